// A fleet of models of one kind, with its memory and its threads.
#pragma once

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "driftline/engine.hpp"
#include "driftline/linear/first_order_model.hpp"
#include "driftline/fleet/memory.hpp"
#include "driftline/fleet/watch.hpp"
#include "driftline/linear/second_order_model.hpp"

namespace driftline {

template <class T> Status replay_keyed(SecondOrderState<T>& m, const Slots& slots, const KeyedRows& rows, KeyedDone& done) {
    return engine<T>().replay_slots(m, slots, rows, done);
}
template <class T> Status replay_keyed(FirstOrderState<T>& m, const Slots& slots, const KeyedRows& rows, KeyedDone& done) {
    return engine<T>().replay_slots_first(m, slots, rows, done);
}

// Whether a row with finite values can still be refused, in which case a call may have to be undone midway.
template <class T> bool may_refuse(const SecondOrderState<T>& m) {
    return m.policy.may_lack_noise() || m.forgetting.values || m.thresholds.values;
}
template <class T> bool may_refuse(const FirstOrderState<T>& m) { return m.policy.space == Space::free; }

// Calls work(i) for each i below `threads`, each in its own thread; rethrows the first exception by index.
template <class Work> void in_threads(std::size_t threads, Work&& work) {
    std::vector<std::exception_ptr> errors(threads);
    const auto guarded = [&](std::size_t i) {
        try {
            work(i);
        } catch (...) {
            errors[i] = std::current_exception();
        }
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i)
        try {
            others.emplace_back(guarded, i);
        } catch (const std::system_error&) { // no more threads available
            guarded(i);
        }
    guarded(0);
    others.clear();
    for (const std::exception_ptr& error : errors)
        if (error)
            std::rethrow_exception(error);
}

// A block of memory with one piece of equal size per slot.
struct Pieces {
    std::byte* bytes;
    std::size_t size;
    std::byte* at(Index slot) const { return bytes + static_cast<std::size_t>(slot) * size; }
};

// The contents of slots before a call changed them, in chunks that are never copied.
struct Journal {
    std::vector<Pieces> blocks;
    std::vector<Index> slots;
    std::vector<std::vector<std::byte>> chunks;

    static void keep(void* self, Index slot) {
        constexpr std::size_t few = 16, many = 4096;
        Journal& journal = *static_cast<Journal*>(self);
        if (journal.chunks.empty() || journal.chunks.back().size() == journal.chunks.back().capacity()) {
            std::size_t size = 0;
            for (const Pieces& block : journal.blocks)
                size += block.size;
            journal.chunks.emplace_back();
            journal.chunks.back().reserve(std::clamp(journal.slots.size(), few, many) * size);
        }
        journal.slots.push_back(slot);
        for (const Pieces& block : journal.blocks)
            journal.chunks.back().insert(journal.chunks.back().end(), block.at(slot), block.at(slot) + block.size);
    }
    void put_back() const {
        auto slot = slots.begin();
        for (const std::vector<std::byte>& chunk : chunks)
            for (const std::byte* from = chunk.data(); from != chunk.data() + chunk.size(); ++slot)
                for (const Pieces& block : blocks) {
                    std::memcpy(block.at(*slot), from, block.size);
                    from += block.size;
                }
    }
};

// What a fleet stores per model besides the model itself.
struct FleetOptions {
    bool intervals = false;
    double alarm_limit = 0; // 0: no alarms
    bool undoable = false;  // every call can be undone, whether or not a row can be refused
};

template <class Model> class FleetModel {
  public:
    using Policy = decltype(Model::state.policy);

    FleetModel(Index n, Index d, bool intercept, const Policy& policy, const FleetOptions& options = {})
        : n_(n), d_(d), intercept_(intercept), policy_(policy), options_(options), blank_worker_(d, intercept, policy),
          layout_(layout_of(blank_worker_.state)), memory_(bytes_for(n, layout_.size)), blank_(layout_.size) {
        if (options.intervals)
            trackers_.emplace(bytes_for(n, sizeof(Tracker)));
        if (options.alarm_limit > 0)
            watches_.emplace(bytes_for(n, sizeof(Watch)));
        put_in_slot(blank_worker_.state, layout_, blank_.data());
    }
    FleetModel(const FleetModel&) = delete;

    Index size() const { return n_; }
    Index features() const { return d_ - intercept_; }
    Index width() const { return d_; }
    bool intercept() const { return intercept_; }
    const Policy& policy() const { return policy_; }
    const SlotLayout& layout() const { return layout_; }
    std::byte* slot(Index i) { return memory_.data() + i * layout_.size; }
    const SlotHead& head(Index i) { return *reinterpret_cast<const SlotHead*>(slot(i)); }
    // The contents of a slot: its own, or the initial ones if it was never written.
    const std::byte* content(Index i) { return head(i).call ? slot(i) : blank_.data(); }
    const FleetOptions& options() const { return options_; }
    // Null if the fleet does not keep it.
    Tracker* tracker(Index i) { return options_.intervals ? trackers() + i : nullptr; }
    Watch* watch(Index i) { return watches_ ? watches() + i : nullptr; }
    Index bytes_each() const {
        return layout_.size + (options_.intervals ? static_cast<Index>(sizeof(Tracker)) : 0) +
               (watches_ ? static_cast<Index>(sizeof(Watch)) : 0);
    }
    // A copy of the model in a slot.
    std::unique_ptr<Model> model(Index i) {
        auto worker = new_worker();
        take_from_slot(worker->state, layout_, content(i));
        if (!head(i).call)
            worker->state.coverage = blank_worker_.state.coverage;
        else if (options_.intervals)
            worker->state.coverage = tracker(i)->coverage;
        return worker;
    }
    // Replaces the model in a slot.
    void put(Index i, const Model& model, std::uint64_t skipped) {
        put_in_slot(model.state, layout_, slot(i));
        const SlotHead head{call_, skipped};
        std::memcpy(slot(i), &head, sizeof head);
        if (options_.intervals)
            tracker(i)->coverage = model.state.coverage;
    }
    // Lets the models of all slots that were never written start as this one.
    void start_from(const Model& model) {
        put_in_slot(model.state, layout_, blank_.data());
        take_from_slot(blank_worker_.state, layout_, blank_.data());
        blank_worker_.state.coverage = model.state.coverage;
    }
    // Passes an error to the watch of a slot, if there is one; returns whether it raises the alarm.
    bool see(Index i, double error) {
        bool raised = false;
        if (watches_) {
            Watch& watch = watches()[i];
            if (watch.alarm.limit == 0)
                watch = new_watch(options_.alarm_limit);
            watch.see(1, [&](Index) { return error; }, [&](Index) { raised = true; });
        }
        return raised;
    }
    // A new model in its initial state.
    std::unique_ptr<Model> new_worker() const {
        auto worker = std::make_unique<Model>(d_, intercept_, policy_);
        set_tables(*worker);
        return worker;
    }

    // Makes room for at least n models. The capacity at least doubles, so this is rare. Not allowed within a call.
    void reserve(Index n) {
        if (n <= n_)
            return;
        const Index ample = std::max(n, 2 * n_);
        try {
            grow(ample);
        } catch (const std::bad_alloc&) { // then only as many as needed
            grow(n);
        }
        journals_.clear();
    }

    // Resets these slots, given in ascending order, to their initial state.
    void clear(const std::vector<Index>& slots) {
        for (const Pieces& block : blocks())
            for (const Index slot : slots)
                std::memset(block.at(slot), 0, block.size);
    }
    // Removes these slots from the first `count`, which are all that are in use; later slots move up.
    void remove(const std::vector<Index>& slots, Index count) {
        for (const Pieces& block : blocks()) {
            Index to = slots.empty() ? count : slots.front();
            for (std::size_t i = 0; i < slots.size(); ++i) {
                const Index from = slots[i] + 1, until = i + 1 < slots.size() ? slots[i + 1] : count;
                std::memmove(block.at(to), block.at(from), static_cast<std::size_t>(until - from) * block.size);
                to += until - from;
            }
        }
        const std::size_t left = static_cast<std::size_t>(count) - slots.size();
        memory_.clear_from(left * static_cast<std::size_t>(layout_.size));
        if (trackers_)
            trackers_->clear_from(left * sizeof(Tracker));
        if (watches_)
            watches_->clear_from(left * sizeof(Watch));
    }

    // A schedule counts each model's own rows and segments, so tables start at 1. All models share one growing table.
    void extend_forgetting(const double* values, Index count) {
        forgetting_.reserve(1); // an empty table needs a non-null pointer too
        forgetting_.insert(forgetting_.end(), values, values + count);
        forgets_by_table_ = true;
        renew_tables();
    }
    void extend_thresholds(const double* values, Index count) {
        thresholds_.insert(thresholds_.end(), values, values + count);
        renew_tables();
        put_in_slot(blank_worker_.state, layout_, blank_.data());
    }
    // The lengths of the tables.
    Index forgettings() const { return static_cast<Index>(forgetting_.size()); }
    Index thresholds() const { return static_cast<Index>(thresholds_.size()); }

    // Processes rows from the position in each thread's entry of `done`. Returns the status of the first row that could
    // not be processed; later rows of other keys may have been learned until the call is undone.
    Status run(const KeyedRows& rows, std::vector<KeyedDone>& done) {
        const std::size_t threads = done.size();
        open_ = rows.batch.y != nullptr;
        if (rows.out.spread() && !trackers_)
            trackers_.emplace(bytes_for(n_, sizeof(Tracker)));
        while (workers_.size() < threads)
            workers_.push_back(new_worker());
        if (journals_.size() < threads)
            journals_.resize(threads, Journal{blocks(), {}, {}});
        std::vector<Status> outcomes(threads, Status::done);
        in_threads(threads, [&](std::size_t i) { outcomes[i] = run_part(rows, i, threads, done[i]); });
        return first_of(outcomes, done);
    }
    // A call that learns consists of one or more runs, and ends with accept or undo.
    void accept() {
        ++call_;
        open_ = false;
        journals_.clear();
        if (!options_.intervals)
            trackers_.reset();
    }
    // Returns false if no call is under way, or if it could not fail and so kept no journal; in that case, what was
    // learned stays.
    bool undo() {
        if (!open_)
            return false;
        for (const Journal& journal : journals_)
            journal.put_back();
        accept();
        return keeps_journal();
    }
    std::uint64_t call() const { return call_; }

  private:
    bool keeps_journal() const { return options_.undoable || may_refuse(blank_worker_.state); }
    static std::size_t bytes_for(Index n, Index size) {
        if (n > std::numeric_limits<Index>::max() / 2 / size)
            throw std::bad_alloc();
        return static_cast<std::size_t>(n) * static_cast<std::size_t>(size);
    }
    void grow(Index n) {
        memory_.grow(bytes_for(n, layout_.size));
        if (trackers_)
            trackers_->grow(bytes_for(n, sizeof(Tracker)));
        if (watches_)
            watches_->grow(bytes_for(n, sizeof(Watch)));
        n_ = n;
    }
    Tracker* trackers() { return reinterpret_cast<Tracker*>(trackers_->data()); }
    Watch* watches() { return reinterpret_cast<Watch*>(watches_->data()); }
    // All memory blocks that belong to the models between calls.
    std::vector<Pieces> blocks() {
        std::vector<Pieces> out{{memory_.data(), static_cast<std::size_t>(layout_.size)}};
        if (options_.intervals)
            out.push_back({trackers_->data(), sizeof(Tracker)});
        if (watches_)
            out.push_back({watches_->data(), sizeof(Watch)});
        return out;
    }
    static Status first_of(const std::vector<Status>& outcomes, std::vector<KeyedDone>& done) {
        std::size_t first = 0;
        for (std::size_t i = 1; i < done.size(); ++i)
            if (done[i].row < done[first].row)
                first = i;
        return outcomes[first];
    }
    Status run_part(KeyedRows rows, std::size_t i, std::size_t threads, KeyedDone& done) {
        rows.part = static_cast<std::uint32_t>(i);
        rows.parts = static_cast<std::uint32_t>(threads);
        auto& state = workers_[i]->state;
        const Slots slots{memory_.data(),
                          blank_.data(),
                          layout_,
                          call_,
                          keeps_journal() ? &Journal::keep : nullptr,
                          trackers_ ? trackers() : nullptr,
                          &blank_worker_.state.coverage,
                          options_.intervals};
        done.journal = &journals_[i];
        const Index from = done.row;
        const Status status = replay_keyed(state, slots, rows, done);
        if (watches_ && rows.batch.y)
            watch_rows(watches(), options_.alarm_limit, rows, from, done.row);
        return status;
    }
    void set_tables(Model& worker) const {
        if constexpr (requires { worker.state.forgetting; }) {
            if (forgets_by_table_)
                worker.state.forgetting = {forgetting_.data(), 1, static_cast<Index>(forgetting_.size())};
            if (!thresholds_.empty())
                worker.set_thresholds(thresholds_, 1);
        }
    }
    void renew_tables() {
        for (auto& worker : workers_)
            set_tables(*worker);
        set_tables(blank_worker_);
    }

    Index n_, d_;
    bool intercept_;
    Policy policy_;
    FleetOptions options_;
    Model blank_worker_; // never learns
    SlotLayout layout_;
    LazyZeros memory_;
    std::optional<LazyZeros> trackers_; // for one call only, if intervals are not kept
    std::optional<LazyZeros> watches_;
    Aligned<std::byte> blank_;
    std::uint64_t call_ = 1;
    bool open_ = false; // a call that learns is under way
    bool forgets_by_table_ = false;
    std::vector<double> forgetting_, thresholds_;
    std::vector<std::unique_ptr<Model>> workers_;
    std::vector<Journal> journals_;
};

} // namespace driftline
