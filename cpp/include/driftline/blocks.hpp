// Several rows at a time through a factor that is larger than the cache.
//
// Of a group of columns a row needs what the row before it left there, and of the groups before only its own running sums
// (see factor.hpp). So all rows of a block go through one group before any of them goes on to the next: the matrix comes
// from memory once for a block, and every number is the same, to the last bit, as if the rows had come one by one. A second
// thread may follow behind the first with rows of its own.
//
// The weights follow once S has been through the block: nothing in S depends on them, or on a label.
#pragma once

#include <algorithm>
#include <vector>

#include "driftline/companion.hpp"
#include "driftline/machine.hpp"
#include "driftline/second_order.hpp"
#include "driftline/storage.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

inline constexpr Index rows_of_a_block = 16;

// A row on its way through the columns.
template <class T> struct BlockRow {
    T *x = nullptr, *k = nullptr;
    View view;
    Passage passage;
    Doubles s;          // x'S x so far
    double unheard = 0; // where D_j f_j^2 is larger, f_j is more than rounding
};

// What belongs to the row that is at the columns of a thread; each thread has its own.
template <class T> struct Columns {
    Aligned<T> numbers;
    Aligned<double> sums;
    Factor<T> factor; // the same matrix
    explicit Columns(const Factor<T>& s) : numbers(3 * s.size), sums(2 * s.size), factor(s) {
        factor.product = numbers.data();
        factor.v = factor.product + s.size;
        factor.slopes = factor.v + s.size;
        factor.grown = sums.data();
        factor.sums = factor.grown + s.size;
    }
};

// As hold_growth has it, for the columns of one group.
template <class T> DRIFTLINE_ONCE void listen(const Factor<T>& s, const BlockRow<T>& row, Index g) {
    for (Index j = 4 * g; j < 4 * g + 4; ++j) {
        if (j >= s.used) { // the padding has nothing to forget
            s.grown[j] = smallest_variance;
            continue;
        }
        const double f = static_cast<double>(s.product[j]);
        if (!(s.grown[j] > row.view.growth.watch) || s.grown[j] * f * f > row.unheard)
            continue;
        const Index rows = panel_rows<T>(j / panel_width<T>);
        if (std::fabs(f) <= silence_of<T>(s.used) * absolute_terms(s.u + panel_index<T>(0, j), row.x, rows))
            s.product[j] = 0;
    }
}

// Takes the row into the columns of group g, and forms their products with `next`.
template <class T>
DRIFTLINE_INLINE void take_into_columns(const Factor<T>& s, Row<0, T>& at, BlockRow<T>& row, Index g, const T* next) {
    const Growth& growth = row.view.growth;
    bool soft = false;
    for (Index j = 4 * g; j < 4 * g + 4; j += lanes<double>) {
        const Doubles grown = load_doubles(s.d + j) * growth.grow, f = load_doubles(at.product + j);
        store_doubles(at.grown + j, grown);
        soft |= any((grown > growth.watch) & (grown * f * f <= row.unheard));
    }
    if (soft) [[unlikely]]
        listen(s, row, g);
    for (Index j = 4 * g; j < 4 * g + 4; j += lanes<double>)
        row.s += weigh_columns(at, j);
    scale_columns(s, at, row.passage, g);
    at.k = row.k;
    update_columns<false>(s.u + panel_index<T>(0, 4 * g), at, g, next, at.product);
}

template <class T> class BlockReplay {
  public:
    BlockReplay(SecondOrderState<T>& m, const Batch& batch, Outputs& out, bool two_threads)
        : m_(m), batch_(batch), out_(out), reader_(batch, m.d, m.intercept), usual_(usual_view(m)),
          extras_(extras_of(m, batch.weight != nullptr)), size_(padded<T>(m.d)) {
        if (two_threads && companion_.hire())
            follower_.emplace_back(m.factor);
        capacity_ = (1 + static_cast<Index>(follower_.size())) * rows_of_a_block;
        rows_.resize(static_cast<std::size_t>(capacity_ + 1)); // one more for the row that follows
        buffer_ = Aligned<T>(2 * size_ * (capacity_ + 1));
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            rows_[i].x = buffer_.data() + 2 * size_ * static_cast<Index>(i);
            rows_[i].k = rows_[i].x + size_;
        }
    }

    // Whether the policy lets rows go in blocks: none of them may change S by more than the step.
    static bool suits(const SecondOrderState<T>& m) {
        const Policy& policy = m.policy;
        return !m.additive && !policy.complement && policy.reset != Reset::below && policy.radius == 0 && policy.modest == 0;
    }

    Status run() {
        Status status = Status::done;
        while (status == Status::done && out_.done < batch_.rows) {
            if (const Index n = gather(); n > 0)
                learn(n);
            else
                status = replay_singly();
        }
        m_.ready = false;
        return status;
    }

  private:
    SecondOrderState<T>& m_;
    const Batch& batch_;
    Outputs& out_;
    const Reader<0, T> reader_;
    const View usual_;
    const Extras extras_;
    const Index size_;
    Index capacity_;
    bool follows_ = false; // the first of the rows is there already, and the product at hand is its own
    std::vector<BlockRow<T>> rows_;
    Aligned<T> buffer_;
    Companion companion_;
    std::vector<Columns<T>> follower_; // one, where there is a second thread

    // Rows from the next one on of which it is certain beforehand that they ask for nothing but the plain step.
    Index gather() {
        Index n = gather_within_reach();
        if (n == 0) {
            m_.reach = trace(m_.factor);
            n = gather_within_reach();
        }
        return n;
    }
    Index gather_within_reach() {
        const Policy& policy = m_.policy;
        Index most = std::min(capacity_, batch_.rows - out_.done), n = 0;
        if (policy.reset == Reset::every)
            most = std::min(most, policy.period - static_cast<Index>(m_.sums.rows) % policy.period);
        const double audible = policy.time == Time::divide ? resolution<T> * policy.noise : HUGE_VAL;
        const double loudest = at_most(largest_s<T>, audible), silence = silence_of<T>(m_.d);
        for (; n < most; ++n) {
            BlockRow<T>& row = rows_[static_cast<std::size_t>(n)];
            const Index t = out_.done + n;
            if (!(n == 0 && follows_))
                reader_.take(row.x, t);
            const double norm2 = dot(row.x, row.x, size_);
            row.view = usual_;
            if (fate_of(batch_, t, row.x, size_, norm2) != Fate::learn ||
                look_up_forgetting(m_, row.view, n) != Status::done)
                break;
            const double reach = m_.reach * row.view.growth.grow, loudness = 2 * reach * norm2; // twice: for rounding
            const double rho = at_most(at_least(smallest_noise<T>, policy.noise / weight_of(batch_, t)), largest_noise);
            if (!(loudness <= loudest && 2 * reach <= row.view.growth.cap && is_ample<T>(rho)))
                break;
            m_.reach = reach;
            row.passage = Passage::begin<T>(rho);
            row.s = Doubles{};
            row.unheard = silence * silence * loudness;
        }
        return n;
    }

    Status replay_singly() {
        follows_ = false;
        Batch some = batch_;
        some.rows = std::min(batch_.rows, out_.done + rows_of_a_block);
        return replay<0>(m_, some, out_, false);
    }

    void learn(Index n) {
        if (!follows_)
            multiply(m_.factor, rows_[0].x);
        BlockRow<T>& after = rows_[static_cast<std::size_t>(n)];
        follows_ = out_.done + n < batch_.rows;
        if (follows_)
            reader_.take(after.x, out_.done + n);
        const T* const next = follows_ ? after.x : rows_[0].x;
        if (!follower_.empty() && n >= 4)
            update_together(n, next);
        else
            update_rows(m_.factor, 0, n, next, [](Index) {}, [](Index) {});
        m_.ready = true;
        T* const own = m_.x;
        for (Index i = 0; i < n; ++i)
            conclude_row(rows_[static_cast<std::size_t>(i)], next);
        m_.x = own;
        follows_ &= m_.ready; // unless S was reset
        std::swap(rows_[0].x, after.x);
    }

    // Rows [first, last) through all columns. Before group g comes begin(g), after it end(g).
    template <class Begin, class End>
    void update_rows(const Factor<T>& s, Index first, Index last, const T* next, Begin&& begin, End&& end) {
        Row<0, T> at(s);
        for (Index g = 0; g < at.groups; ++g) {
            begin(g);
            for (Index i = first; i < last; ++i)
                take_into_columns(s, at, rows_[static_cast<std::size_t>(i)], g,
                                  i + 1 < last ? rows_[static_cast<std::size_t>(i + 1)].x : next);
            end(g);
        }
    }

    // The second half of the rows goes through the columns behind the first, on the other thread.
    void update_together(Index n, const T* next) {
        constexpr Index apart = 2; // groups, so that no cache line of D is of interest to both
        const Factor<T>&ahead = m_.factor, &behind = follower_[0].factor;
        const Index middle = (n + 1) / 2, groups = (m_.factor.used + 3) / 4;
        std::atomic<Index> passed{0};
        companion_.start([&] {
            const auto wait = [&](Index g) {
                const Index least = std::min(g + apart, groups);
                for (int spins = 0; passed.load(std::memory_order_acquire) < least; ++spins)
                    if (spins > 1000)
                        std::this_thread::yield();
                for (Index j = 4 * g; j < 4 * g + 4; ++j)
                    behind.product[j] = ahead.product[j];
            };
            update_rows(behind, middle, n, next, wait, [](Index) {});
        });
        update_rows(
            ahead, 0, middle, rows_[static_cast<std::size_t>(middle)].x, [](Index) {},
            [&](Index g) { passed.store(g + 1, std::memory_order_release); });
        companion_.wait();
        std::copy(behind.product, behind.product + size_, ahead.product);
    }

    void conclude_row(BlockRow<T>& row, const T* next) {
        const Index t = out_.done;
        m_.x = row.x;
        look(m_, row.view, size_);
        row.view.norm2 = at_most(row.view.norm2, DBL_MAX);
        row.view.s = row.s[0];
        Lesson lesson;
        compare(m_, row.view, extras_, batch_.y[t], weight_of(batch_, t), lesson);
        show(m_, row.view, lesson.shown, out_, t);
        Row<0, T> at(m_.factor);
        at.k = row.k;
        const double resets = m_.sums.resets;
        conclude(m_, at, row.view, extras_, lesson, batch_.y[t], weight_of(batch_, t), next);
        if (out_.resets && m_.sums.resets > resets)
            out_.resets[out_.reset_count++] = t;
        snapshot(out_, m_.w, m_.d, t);
        ++out_.done;
    }
};

// Whether the matrix is too large to stay in the cache from row to row.
template <class T> bool outgrows_cache(const SecondOrderState<T>& m) {
    return 4 * panel_elements<T>(m.d) * static_cast<Index>(sizeof(T)) > 3 * core_cache();
}

// Rows one by one, or in blocks where that pays.
template <class T> Status replay_any(SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
    if (batch.y && BlockReplay<T>::suits(m) && outgrows_cache(m)) {
        const ThreadClaim claim;
        return BlockReplay<T>(m, batch, out, claim.has_room()).run();
    }
    return with_size(m, [&]<int G>() { return replay<G>(m, batch, out, false); });
}

} // namespace DRIFTLINE_ISA
} // namespace driftline
