// The kernel version of a second-order learner, which learns a row's coordinates in a dictionary of points.
//
// In the orthonormal basis of the dictionary the recursion is that of any second-order learner: on the span of the points S
// is the model's matrix, and in all directions beyond it tau I. The model holds the coordinates in reverse order of the
// points. Unused coordinates have weight 0 and variance tau, as all directions beyond the span do; coordinate 0 is never
// used, and represents these.
#pragma once

#include <memory>
#include <vector>

#include "driftline/kernels/dictionary.hpp"
#include "driftline/kernels/scale.hpp"
#include "driftline/linear/second_order_model.hpp"
#include "driftline/linear/second_order_view.hpp"

namespace driftline {

struct KernelOptions {
    KernelFunction function;
    bool measured = false; // gamma is estimated from the first rows
    Index budget = 0;      // most points; 0: every row becomes a point
    double threshold = 0;  // with a budget, a row becomes a point if its residual exceeds this share of it or of the noise
};

class KernelModel {
  public:
    using Model = SecondOrderModel<double>;

    // `model` learns the coordinates, and is replaced by a wider one when it has to be.
    KernelModel(std::unique_ptr<Model>& model, Index features, const KernelOptions& options)
        : options_(options), model_(model), dictionary_(features, model->state.d - 1), coordinates_(model->state.d) {
        if (options.budget > 0)
            dictionary_.track(5 * static_cast<double>(options.budget));
    }

    // The width of a new model. A budget is sized once, with room for one extra point and coordinate 0.
    static Index first_width(Index budget) { return budget > 0 ? budget + 2 : 16; }

    Dictionary& dictionary() { return dictionary_; }
    const KernelOptions& options() const { return options_; }
    Index features() const { return dictionary_.features(); }
    FirstRows first;      // while gamma is estimated
    double projected = 0; // rows learned as their projection on the points
    double removed = 0;   // points removed

    // The prior variance of a direction.
    double tau() const {
        const auto& state = model_->state;
        return state.additive ? state.packed.s[0] : state.sums.pending != 0 ? 1 : state.factor.d[0];
    }

    // Predicts one row, and learns it if there is a label; results go to place t of `out`. Nothing has changed unless the
    // status is done.
    Status step(const double* x, const double* y, double weight, Outputs& out, Index t) {
        if (!dictionary_.look(options_.function, x))
            return Status::outside_kernel;
        const bool newcomer = is_newcomer();
        place(newcomer);
        Outputs one = out.from_row(t);
        unsigned char reset = 0;
        one.resets = &reset;
        const double counted = model_->state.sums.weighted, at = model_->state.at;
        const View passed = time_passed();
        const double share = newcomer && y ? without_sliver(weight, passed) : weight;
        Batch batch;
        batch.x = coordinates_.data();
        batch.rows = 1;
        batch.column_stride = 1;
        batch.y = y;
        batch.weight = share == 1 ? nullptr : &share;
        if (const Status status = engine<double>().replay(model_->state, batch, one); status != Status::done || !y)
            return status;
        model_->state.sums.weighted = counted + (weight != 1);
        if (reset && out.resets)
            out.resets[t] = 1;
        take_in(x, newcomer);
        if (options_.measured && first.open()) {
            first.add(x, features(), *y, weight, passed.keep, at);
            if (first.due())
                measure();
            if (first.rows() == FirstRows::most)
                first.close();
        }
        return Status::done;
    }

    template <class T> Status replay(const Batch& batch, Outputs& out) {
        row_.resize(static_cast<std::size_t>(features()));
        for (; out.done < batch.rows; ++out.done) {
            const Index t = out.done;
            const RowAction action = row_action<T>(batch, t, read_row<T>(batch, t, features(), row_.data()));
            if (action == RowAction::refuse)
                return Status::bad_value;
            out.predictions[t] = NAN;
            write_no_spread(out, t);
            const double* label = action == RowAction::learn ? batch.y + t : nullptr;
            if (batch.times)
                model_->state.at = batch.times[t];
            if (action != RowAction::pass)
                if (const Status status = step(row_.data(), label, weight_of(batch, t), out, t); status != Status::done)
                    return status;
            if (action != RowAction::learn)
                out.skipped += was_skipped<T>(batch, t, action);
        }
        return Status::done;
    }

    void grow(Index more) {
        first.widen(features(), more);
        dictionary_.widen(more);
    }

    // Calls act with the arrays of the state, besides the model's.
    template <class Act> void visit(Act&& act) {
        act(&options_.function.gamma, 1);
        act(&projected, 1);
        act(&removed, 1);
        dictionary_.visit(act);
        first.visit(act);
    }

  private:
    bool is_newcomer() const {
        const double self = dictionary_.self(), rest = dictionary_.rest();
        if (options_.budget == 0)
            return self > 0;
        const Policy& policy = model_->state.policy;
        const double noise = policy.complement ? 1 : policy.noise;
        // Uses the initial variance: under forgetting all rows would seem new. A row may be small compared with the noise
        // and yet be one of many, so it is also compared with itself.
        return rest > 1e-10 * self && (rest > options_.threshold * self || policy.start * rest > options_.threshold * noise);
    }

    // Writes the coordinates into the model's row.
    void place(bool newcomer) {
        const Index n = dictionary_.count(), last = coordinates_.size() - 1;
        std::fill_n(coordinates_.data(), coordinates_.size(), 0.0);
        for (Index i = 0; i < n; ++i)
            coordinates_.data()[last - i] = dictionary_.coordinates()[i];
        if (newcomer)
            coordinates_.data()[last - n] = dictionary_.pivot();
    }

    // What time does to S before the next row; nothing if the table of forgetting factors ends before it.
    View time_passed() const {
        const auto& state = model_->state;
        View view = usual_view(state);
        look_up_forgetting(state, view);
        return view;
    }

    // The sliver acts as a feature of the row alone, and so as part of its noise. It is subtracted from the noise, through
    // the weight, if that is large enough: then the sliver changes nothing. Not with a budget, where later rows are learned
    // as combinations of the points, sliver included.
    double without_sliver(double weight, const View& passed) const {
        const Policy& policy = model_->state.policy;
        if (policy.complement || policy.concavity > 0 || options_.budget > 0)
            return weight;
        const double now = tau() / passed.keep + passed.drift;
        const double noise = policy.noise / (weight * passed.share), part = now * sliver * dictionary_.self();
        return part < 0.5 * noise && noise <= DBL_MAX ? policy.noise / ((noise - part) * passed.share) : weight;
    }

    void take_in(const double* x, bool newcomer) {
        if (newcomer) {
            dictionary_.add(x);
        } else if (options_.budget > 0) {
            projected += dictionary_.rest() > 1e-10 * dictionary_.self();
            dictionary_.note_use();
        }
        if (options_.budget > 0 && dictionary_.count() > options_.budget)
            remove(dictionary_.least_useful(model_->state.w + coordinates_.size() - 1));
        else if (dictionary_.count() + 1 >= coordinates_.size())
            make_room();
    }
    void remove(Index which) {
        const Index last = coordinates_.size() - 1, lowest = last - (dictionary_.count() - 1);
        kernel_engine().drop_coordinate(model_->state, dictionary_.remove(which), lowest, last - which);
        removed += 1;
    }

    // Adds unused coordinates below the others.
    void make_room() {
        const Index before = coordinates_.size(), more = std::max<Index>(16, before / 2);
        model_ = model_->grown(more, 0, tau());
        dictionary_.make_room(before + more - 1);
        coordinates_ = Aligned<double>(before + more);
    }

    // Estimates gamma from the rows so far, and relearns them with it. If one would be refused, nothing changes.
    void measure() {
        KernelOptions options = options_;
        options.measured = false;
        options.function.gamma = first.gamma(options.function.kind, features());
        if (!(options.function.gamma > 0) || options.function.gamma == options_.function.gamma)
            return;
        const auto& old = model_->state;
        auto model = std::make_unique<Model>(first_width(options.budget), false, old.policy);
        const auto values = [](const Schedule& table) {
            return std::vector<double>(table.values, table.values + table.count);
        };
        if (old.forgetting.values)
            model->set_forgetting(first.kept(), 1);
        if (old.thresholds.values)
            model->set_thresholds(values(old.thresholds), old.thresholds.first);
        KernelModel fresh(model, features(), options);
        double ignored = 0;
        Outputs out;
        out.predictions = &ignored;
        for (Index t = 0; t < first.rows(); ++t) {
            model->state.at = first.at(t);
            if (fresh.step(first.x(t, features()), first.y(t), first.weight(t), out, 0) != Status::done)
                return;
        }
        model->state.at = old.at;
        if (old.forgetting.values)
            model->set_forgetting(values(old.forgetting), old.forgetting.first);
        Sums& sums = model->state.sums;
        sums.loss = old.sums.loss;
        sums.largest_loss = old.sums.largest_loss;
        sums.retuned = old.sums.retuned;
        model->state.coverage = old.coverage;
        model_ = std::move(model);
        options_.function.gamma = options.function.gamma;
        dictionary_ = std::move(fresh.dictionary_);
        coordinates_ = std::move(fresh.coordinates_);
        projected = fresh.projected;
        removed = fresh.removed;
    }

    KernelOptions options_;
    std::unique_ptr<Model>& model_;
    Dictionary dictionary_;
    Aligned<double> coordinates_;
    std::vector<double> row_;
};

} // namespace driftline
