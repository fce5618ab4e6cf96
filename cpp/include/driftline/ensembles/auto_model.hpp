// Auto: linear experts with different feature views and rates of adaptation, the mixer that combines them, and the team
// of further experts.
#pragma once

#include <bit>
#include <memory>

#include "driftline/ensembles/auto_upkeep.hpp"
#include "driftline/ensembles/auto_inputs.hpp"
#include "driftline/ensembles/auto_mixer.hpp"
#include "driftline/ensembles/auto_replay.hpp"
#include "driftline/ensembles/long_run.hpp"
#include "driftline/ensembles/team.hpp"

namespace driftline {

template <class T> class AutoModel {
  public:
    AutoModel(Index features, Index born, bool intercept, const Limits& labels)
        : inputs(features, born, intercept), kinds_(experts_for(born)), mixer_(initial_log_weights(kinds_)),
          team_(features, born, labels), long_run_(features), jump_detectors_(kinds_.size()),
          predictions_(kinds_.size() + experts_without_model) {
        for (const ExpertKind& kind : kinds_)
            models_.push_back(std::make_unique<SecondOrderModel<T>>(inputs.width(kind.view), false, kind.policy()));
        for (auto& model : models_)
            model->follow_no_coverage();
        measure_columns();
    }
    AutoModel(const AutoModel&) = delete;

    // The number of experts in the linear core.
    Index experts() const { return static_cast<Index>(kinds_.size()) + experts_without_model; }
    const std::vector<ExpertKind>& kinds() const { return kinds_; }
    Index features() const { return inputs.features(); }
    const Limits& labels() const { return team_.labels(); }
    void set_labels(const Limits& labels) { team_.set_labels(labels); }

    // Predicts a row whose label comes `delay` rows late.
    double predict(const double* x, Index delay) {
        inputs.recall(x, delay, past_);
        ask_experts(x);
        complete(inputs.label_memory);
        return team_.predict(x, delay, inputs.leaning(x, mixer_.mix(predictions_.data())));
    }
    // The variance of the error of the row predicted last, relative to other rows.
    double variance() const { return team_.variance(); }
    // Like predict, and writes to `record` what learning the label will need.
    double ask(const double* x, Index delay, std::vector<double>& record) {
        const double prediction = predict(x, delay);
        record.reserve(static_cast<std::size_t>(record_size(features())));
        record.resize(static_cast<std::size_t>(Past::size(inputs.rows_back(), features())));
        past_.write(record.data());
        mixer_.append_to(predictions_.data(), record);
        record.insert(record.end(), team_.record(), team_.record() + team_.record_size());
        return prediction;
    }
    Index record_size(Index features) const {
        return Past::size(inputs.rows_back(), features) + mixer_.record_size() + team_.record_size(features);
    }
    // The number of features when the record was made; -1 if it is not this model's.
    Index features_then(const std::vector<double>& record) const {
        const Index own = static_cast<Index>(record.size()) - record_size(0), each = record_size(1) - record_size(0);
        return own >= 0 && own % each == 0 && own / each <= features() ? own / each : -1;
    }
    // Learns the late label of a row whose prediction was `prediction`.
    void tell(const double* x, double y, double weight, double prediction, const std::vector<double>& record) {
        const Index then = features_then(record);
        const double* said = past_.read(record.data(), inputs.rows_back(), then, features());
        const double* of_team = said + mixer_.record_size();
        if (inputs.label_memory.confirms(y)) {
            reinstate_outlier();
            if (past_.delay == 0 && past_.known == inputs.label_memory.rows)
                return learn_anew(x, y, weight, {prediction, Team::variance_of(of_team)});
        }
        std::copy_n(said, predictions_.size(), predictions_.begin());
        show_experts(x);
        if (is_outlier(x, y))
            return overlook(x, y, {prediction, Team::variance_of(of_team)}, Team::core_of(of_team));
        mixer_.learn_late(said, y, weight);
        team_.learn(of_team, then, x, y, weight);
        take_in(x, y, weight, {prediction, Team::variance_of(of_team)});
    }
    // Learns the label of a row predicted before the first label. Every prediction was 0 then, so none is scored.
    void tell_first(const double* x, double y, double weight) {
        past_ = Past{};
        for (Index k = 0; k < inputs.rows_back(); ++k)
            past_.rows.insert(past_.rows.end(), x, x + features());
        std::fill(predictions_.begin(), predictions_.end(), 0.0);
        show_experts(x);
        if (is_outlier(x, y))
            return overlook(x, y, {}, 0);
        team_.learn_first(x, y, weight);
        take_in(x, y, weight, {});
    }
    double learn(const double* x, double y, double weight) {
        if (inputs.label_memory.confirms(y)) {
            const double prediction = predict(x, 0);
            const Predicted predicted{prediction, variance()};
            reinstate_outlier();
            learn_anew(x, y, weight, predicted);
            return prediction;
        }
        inputs.recall(x, 0, past_);
        ask_experts(x); // also hands the row to every expert
        const bool outlier = is_outlier(x, y);
        complete(inputs.label_memory);
        if (outlier) {
            const double core = saturate(mixer_.mix(predictions_.data()), DBL_MAX);
            const double prediction = team_.predict(x, 0, core);
            overlook(x, y, {prediction, variance()}, core);
            return prediction;
        }
        const double prediction = predict_and_learn(x, inputs.leaning(x, mix_and_learn(y, weight)), y, weight);
        take_in(x, y, weight, {prediction, variance()});
        return prediction;
    }

    // A row that cannot be learned keeps its place, so seasonal lags stay aligned. `x` is null if a feature is missing;
    // the row before then stands in for it. A prediction replaces a missing or unusual label.
    void pass_over(const double* x, double y) {
        if (sums.rows == 0)
            return;
        if (!x)
            x = (row_before_ = inputs.last_row()).data();
        if (!(std::fabs(y) <= type_max<T>) || inputs.label_memory.unusual(y))
            y = predict(x, 0);
        inputs.recall(x, 0, past_);
        team_.remember(x, y);
        sums.gaps += 1;
        take_place(x, y, 0);
    }

    Status replay(const Batch& batch, Outputs& out) { return AutoReplay<T>(*this).run(batch, out); }

    // The linear model that the experts currently form together: slopes, then the offset.
    void weights(double* out) const {
        std::vector<double> shares(static_cast<std::size_t>(experts()));
        mixer_.slopes(shares.data());
        double offset = 0;
        std::fill(out, out + features(), 0.0);
        for (std::size_t k = 0; k < kinds_.size(); ++k)
            inputs.add_slopes(kinds_[k].view, models_[k]->state.w, shares[k], out, offset);
        offset += shares[kinds_.size()] * inputs.label_memory.last + shares[kinds_.size() + 1] * inputs.label_memory.mean;
        if (inputs.intercept())
            out[features()] = sums.rows > 0 ? saturate(offset, DBL_MAX) : 0;
        for (Index j = 0; j < features(); ++j)
            out[j] = saturate(out[j], DBL_MAX);
    }

    void grow(Index more) {
        const Index before = features();
        inputs.grow(more);
        team_.grow(more);
        long_run_.grow(more);
        warm_.grow(before, more, inputs.rows_back());
        for (std::size_t k = 0; k < kinds_.size(); ++k)
            models_[k] = models_[k]->grown(more * extent_of(kinds_[k].view, inputs.born()).group);
        measure_columns();
    }

    bool warm() const { return sums.rows < warm_rows; }
    // The number of rows an expert remembers: 1 for the last label, all rows for the mean.
    double memory(std::size_t k) const {
        if (k >= kinds_.size())
            return k == kinds_.size() ? 1 : at_least(1, sums.rows);
        const double all = kinds_[k].reset > 0 ? jump_detectors_[k].since : sums.rows, own = kinds_[k].memory();
        return at_least(1, own > 0 ? at_most(own, all) : all);
    }
    double drift(std::size_t k) const { return k < kinds_.size() ? kinds_[k].drift() : k == kinds_.size() ? 1 : 0; }
    // The geometric mean of the core experts' memories and the mean of their drifts, weighted by share.
    void memory_statistics(double* out) const {
        std::vector<double> shares(experts());
        mixer_.shares(shares.data());
        out[0] = out[1] = 0;
        for (std::size_t k = 0; k < shares.size(); ++k) {
            out[0] += shares[k] * std::log(memory(k));
            out[1] += shares[k] * drift(k);
        }
        out[0] = std::exp(out[0]);
    }

    // Calls act with every block of the state; blocks of T belong to the experts.
    template <class Act> void visit(Act&& act) {
        act(reinterpret_cast<double*>(&sums), auto_sums_count);
        inputs.visit(act);
        mixer_.visit(act);
        team_.visit(act);
        long_run_.sample.visit(act);
        act(reinterpret_cast<double*>(jump_detectors_.data()), static_cast<Index>(4 * jump_detectors_.size()));
        warm_.visit(act);
        for (auto& model : models_) {
            act(reinterpret_cast<double*>(&model->state.sums), untimed_sums_count);
            act(model->diagonal().data(), model->diagonal().size());
            act(model->state.w, model->state.d);
            act(model->matrix().data(), model->matrix().size());
        }
    }
    // Allocates the warm-up buffer before its contents are read.
    void expect_warm(Index rows) { warm_.resize(rows, features(), inputs.rows_back()); }
    Index warm_count() const { return warm_.count(); }
    std::vector<std::unique_ptr<SecondOrderModel<T>>>& models() { return models_; }
    Mixer& mixer() { return mixer_; }
    Team& team() { return team_; }
    const Team& team() const { return team_; }
    // Predicts rows before whose label no other label comes.
    LongRun& long_run() { return long_run_; }

    AutoInputs inputs;
    AutoSums sums;
    Coverage coverage;

  private:
    friend class AutoReplay<T>;
    struct Predicted {
        double label = 0, variance = 1;
    };

    std::vector<ExpertKind> kinds_;
    Mixer mixer_;
    Team team_;
    LongRun long_run_;

    void measure_columns() {
        widest_ = 1;
        used_views_.clear();
        for (const ExpertKind& kind : kinds_) {
            widest_ = std::max(widest_, inputs.width(kind.view));
            if (std::find(used_views_.begin(), used_views_.end(), kind.view) == used_views_.end())
                used_views_.push_back(kind.view);
        }
    }

    // Hands a row, and what was known when it was predicted, to every expert.
    void show_experts(const double* x) {
        inputs.look_at(x, past_);
        for (std::size_t k = 0; k < kinds_.size(); ++k) {
            inputs.write(kinds_[k].view, models_[k]->state.x);
            models_[k]->state.ready = false;
        }
    }
    void ask_experts(const double* x) {
        show_experts(x);
        for (std::size_t k = 0; k < kinds_.size(); ++k) {
            double value = 0;
            engine<T>().predict(models_[k]->state, value, nullptr);
            predictions_[k] = value + inputs.origin(kinds_[k].view);
        }
    }
    // Adds the predictions of the experts without a model, and clamps them all.
    void complete(const LabelMemory& memory) {
        predictions_[kinds_.size()] = memory.last;
        predictions_[kinds_.size() + 1] = memory.mean;
        memory.cut_off(predictions_);
    }
    // An extreme label that no expert foresaw and no feature explains.
    bool is_outlier(const double* x, double y) const {
        const LabelMemory& memory = inputs.label_memory;
        return memory.unusual(y) && inputs.ordinary(x) && !memory.foreseen(y, predictions_);
    }
    // No expert learns from an outlier. Later rows see the prediction in place of its label.
    void overlook(const double* x, double y, const Predicted& predicted, double core) {
        judge(y, predicted.label, predicted.variance);
        sums.rows += 1;
        sums.outliers += 1;
        mixer_.overlook((y - core) * (y - core));
        inputs.remember_outlier(x, y, core);
        team_.remember(x, predicted.label);
        rescale_when_due();
    }
    // An outlier whose successor lies where it does was the first label of a new level. Later rows see the label itself.
    void reinstate_outlier() {
        inputs.reinstate_outlier();
        team_.reinstate(inputs.label_memory.last);
    }
    // Learns the row after a reinstated outlier from the inputs that it would have had. From its actual inputs every
    // expert was equally wrong, and the mixer could not tell which of them follows the labels.
    void learn_anew(const double* x, double y, double weight, const Predicted& predicted) {
        inputs.recall(x, 0, past_);
        ask_experts(x);
        complete(inputs.label_memory);
        predict_and_learn(x, mix_and_learn(y, weight), y, weight);
        take_in(x, y, weight, predicted);
    }
    // Runs the team on a row whose label is known at once.
    double predict_and_learn(const double* x, double core, double y, double weight) {
        const double prediction = team_.predict(x, 0, core);
        team_.learn(team_.record(), features(), x, y, weight);
        return prediction;
    }
    // Learns a label in everything but the mixer; the current row and its past are set.
    void take_in(const double* x, double y, double weight, const Predicted& predicted) {
        judge(y, predicted.label, predicted.variance);
        long_run_.sample.add(x, y, weight);
        take_place(x, y, weight);
    }
    // Makes the current row the last one. With weight 0, nothing is learned from it.
    void take_place(const double* x, double y, double weight) {
        const bool warming = warm();
        if (inputs.label_memory.rows == 1)
            mixer_.temper(inputs.change_from_last(x));
        sums.rows += 1;
        if (warming)
            warm_.keep(x, features(), y, weight, past_);
        if (warming && rescaling_due()) {
            start_afresh();
            if (!warm())
                expect_warm(0);
            return;
        }
        double ignored = 0;
        for (std::size_t k = 0; k < kinds_.size() && weight > 0; ++k)
            teach(k, y, weight, ignored);
        inputs.remember(x, y, !warming);
        rescale_when_due();
    }
    // Before the first label every prediction is 0. That large shared loss would mask later ones, so the mixer does not
    // learn it.
    double mix_and_learn(double y, double weight) {
        return sums.rows > 0 ? saturate(mixer_.learn(predictions_.data(), y, weight), DBL_MAX) : 0;
    }
    void judge(double y, double prediction, double variance) {
        const double loss = at_most((y - prediction) * (y - prediction), DBL_MAX);
        sums.loss = at_most(sums.loss + loss, DBL_MAX);
        sums.largest_loss = at_least(sums.largest_loss, loss);
        note(coverage, loss / variance, y - prediction);
    }

    // Expert k learns the row it was handed.
    void teach(std::size_t k, double y, double weight, double& prediction) {
        SecondOrderState<T>& state = models_[k]->state;
        const ExpertKind& kind = kinds_[k];
        if (kind.reset > 0)
            state.sums.value = 0; // will hold this row's squared error over its expected value
        const double label = saturate(y - inputs.origin(kind.view), type_max<T>);
        engine<T>().learn(state, label, weight, prediction);
        if (kind.reset > 0 && jump_detectors_[k].jumped(state.sums.value, kind.sudden, weight)) {
            set_identity(state.factor, kind.reset, state.d);
            state.ready = false;
            sums.resets += 1;
            double ignored = 0; // the row that revealed the jump is the first one after it
            engine<T>().learn(state, label, weight, ignored);
        }
    }
    // Restarts all experts on the buffered rows, in units estimated from these rows.
    void start_afresh() {
        const Index rows = warm_.count();
        inputs.measure(warm_.x.data(), warm_.y.data(), rows);
        inputs.forget_rows();
        for (auto& model : models_)
            model->restart();
        std::fill(jump_detectors_.begin(), jump_detectors_.end(), JumpDetector{});
        const double resets = sums.resets;
        for (Index t = 0; t < rows; ++t) {
            const double* x = warm_.x.data() + t * features();
            double ignored = 0;
            warm_.past(t, features(), inputs.rows_back(), past_);
            show_experts(x);
            for (std::size_t k = 0; k < kinds_.size() && warm_.weights[t] > 0; ++k)
                teach(k, warm_.y[t], warm_.weights[t], ignored);
            inputs.remember(x, warm_.y[t], false);
        }
        sums.resets = resets;
    }

    bool rescaling_due() const { return std::has_single_bit(static_cast<std::size_t>(sums.rows)); }
    void rescale_when_due() {
        if (warm() || !rescaling_due())
            return;
        const Rescaling change = inputs.rescaled();
        if (!change.any)
            return;
        sums.rescalings += 1;
        factors_.resize(widest_);
        for (std::size_t k = 0; k < kinds_.size(); ++k) {
            inputs.column_factors(kinds_[k].view, change, factors_.data());
            rescale(*models_[k], factors_.data());
        }
    }

    std::vector<std::unique_ptr<SecondOrderModel<T>>> models_;
    std::vector<JumpDetector> jump_detectors_;
    std::vector<double> predictions_, factors_, row_before_;
    WarmRows warm_;
    std::vector<FeatureView> used_views_;
    Past past_; // of the current row
    Index widest_ = 1;
};

} // namespace driftline
