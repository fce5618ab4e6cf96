// Auto's experts besides the linear core: autoregression in differences, profiles, a regression on usual values, three tree
// ensembles and a stack of all experts; and the final mixture of their predictions.
//
// Experts learn a row from the inputs available when it was predicted, so those inputs are recorded then.
#pragma once

#include <utility>

#include "driftline/ensembles/differences.hpp"
#include "driftline/ensembles/error_scale.hpp"
#include "driftline/ensembles/first_rows.hpp"
#include "driftline/ensembles/stack.hpp"
#include "driftline/ensembles/team_record.hpp"
#include "driftline/ensembles/trees.hpp"

namespace driftline {

class Team {
  public:
    static constexpr Index head_size = RecordLayout::head_size, usual_columns = RecordLayout::usual_columns,
                           tree_columns = RecordLayout::tree_columns, residual_columns = RecordLayout::residual_columns;

    Team(Index features, Index born, const Limits& labels)
        : features_(features), labels_(labels), lags_(Differences::lags(born)),
          history_(features, std::max<Index>(lags_, 1)), differences_(features, lags_), profiles_(features),
          usual_(usual_columns, {0.998}, std::vector<double>(usual_columns)),
          trees_(tree_columns + 2 * features, {2048, 0.25, 0.2, tree_columns, 2}),
          residual_trees_(residual_columns + 2 * features, {4096, 0.5, 0.1, residual_columns, 2}),
          feature_trees_(features, {4096, 1, 0.1, 0, 1}), stack_(at(Member::cut)), final_(members), scale_(features) {
        make_room();
    }

    const Limits& labels() const { return labels_; }
    void set_labels(const Limits& labels) { labels_ = labels; }

    // Combines the core's prediction with the other members', and records the inputs that learning needs.
    double predict(const double* x, Index delay, double core) {
        const LabelRange range = ask_linear(x, delay, core, record_.data());
        ask_trees(record_.data());
        ask_residual_trees(record_.data());
        ask_feature_trees(record_.data());
        return mix(record_.data(), range);
    }
    // The stages of a prediction, in order. They share nothing but the record of the row, so a stage may run as many
    // rows ahead of the next as there are records.
    LabelRange ask_linear(const double* x, Index delay, double core, double* record) {
        const LabelRange range = range_.now();
        PredictionContext context;
        history_.look(x, delay, context);
        RecordFields fields = view(record);
        fields.head[0] = static_cast<double>(context.known);
        fields.delay() = static_cast<double>(delay);
        fields.last() = context.near[0];
        fields.base() = context.base;
        fields.mean() = history_.overall_mean();
        std::fill_n(fields.said, members, core);
        differences_.write(context, fields.differences);
        profiles_.write(context, history_.mean(), fields.profiles);
        profiles_.write_places(x, fields.places);
        write_usual(context, range, fields);
        if (context.known > 0)
            ask_regressions(context, fields);
        write_trees(context, fields);
        return range;
    }
    void ask_trees(double* record) {
        const RecordFields fields = view(record);
        if (!trees_.ready())
            return;
        trees_.narrow(fields.trees, row_.data());
        fields.said_by(Member::trees) = fields.base() + trees_.predict(row_.data());
    }
    void ask_residual_trees(double* record) {
        const RecordFields fields = view(record);
        if (!residual_trees_.ready())
            return;
        residual_trees_.narrow(fields.residual_trees, residual_row_.data());
        fields.said_by(Member::residual_trees) = fields.said[0] + residual_trees_.predict(residual_row_.data());
    }
    void ask_feature_trees(double* record) {
        const RecordFields fields = view(record);
        if (feature_trees_.ready())
            fields.said_by(Member::feature_trees) = fields.mean() + feature_trees_.predict(features_of(fields));
    }
    // `range` is the range of labels when the row was predicted.
    double mix(double* record, const LabelRange& range) {
        const RecordFields fields = view(record);
        double* said = fields.said;
        if (range.known) {
            fields.said_by(Member::cut) = range.hold(said[0], 0.1);
            for (Index k = 1; k < at(Member::cut); ++k)
                said[k] = range.hold(said[k], 0.5);
            if (!feature_trees_.ready()) // until then the core predicts in its place
                fields.said_by(Member::feature_trees) = said[0];
        }
        fields.said_by(Member::stack) = stack_.predict(said);
        fields.mixed() = fields.prediction() = saturate(final_.mix(said, fields.layer), DBL_MAX);
        if (fields.known() > 0)
            fields.prediction() = first_rows_.predict(fields.mixed(), fields.last(), fields.known());
        scale_.predict(fields);
        return labels_.hold(fields.prediction());
    }
    // The record of the last prediction, and its length.
    const double* record() const { return record_.data(); }
    Index record_size() const { return record_size(features_); }
    Index record_size(Index features) const { return RecordLayout{features, lags_}.size(); }

    // Learns the label of a row predicted before the first label.
    void learn_first(const double* x, double y, double weight) {
        if (history_.count() > 0)
            teach_feature_trees_early(x, y, weight);
        remember(x, y);
    }
    // Learns the label of a row. If the record predates a new feature, only the members that do not depend on features
    // learn.
    void learn(const double* record, Index features_then, const double* x, double y, double weight) {
        teach_final_mixture(record, y, weight);
        teach_scale(record, features_then, y, weight);
        if (features_then == features_) {
            teach_trees(record, y, weight);
            teach_residual_trees(record, y, weight);
            teach_feature_trees(record, y, weight);
            if (const RecordFields fields = view(record); fields.known() < near_labels && fields.delay() > 0)
                teach_feature_trees_early(x, y, weight);
        }
        teach_linear(record, features_then, x, y, weight);
    }
    // The stages of learning.
    void teach_linear(const double* record, Index features_then, const double* x, double y, double weight) {
        const RecordFields fields = view(record);
        y = held(y);
        const double last = fields.last();
        if (fields.known() > 0) {
            usual_.learn(fields.usual, y, weight);
            if (features_then == features_)
                profiles_.learn(fields.profiles, last, y, weight);
            if (features_then == features_ && fields.known() >= near_labels)
                differences_.learn(fields.differences, last, y, weight);
        }
        remember(x, y, fields.known() > 0 ? &last : nullptr);
    }
    void teach_trees(const double* record, double y, double weight) {
        const RecordFields fields = view(record);
        if (fields.known() < near_labels)
            return;
        trees_.narrow(fields.trees, row_.data());
        trees_.learn(row_.data(), held(y) - fields.base(), weight);
    }
    void teach_residual_trees(const double* record, double y, double weight) {
        const RecordFields fields = view(record);
        if (fields.known() < near_labels)
            return;
        residual_trees_.narrow(fields.residual_trees, residual_row_.data());
        residual_trees_.learn(residual_row_.data(), held(y) - fields.said[0], weight);
    }
    void teach_feature_trees(const double* record, double y, double weight) {
        const RecordFields fields = view(record);
        if (fields.known() < near_labels || features_ == 0)
            return;
        const bool behind = feature_trees_.recent_error() > 2 * residual_trees_.recent_error();
        const Index pace = fields.delay() > 0 ? 1 : behind ? 16 : 2; // labels that come at once tell the others more
        const double mean = fields.delay() > 0 ? history_.overall_mean() : fields.mean(); // equal if labels come at once
        feature_trees_.learn(features_of(fields), held(y) - mean, weight, pace);
    }
    // If labels are late, many rows are predicted before there are enough labels for the other ensembles. These trees need
    // none: until the others begin, they learn such rows, and the core's head start is theirs.
    void teach_feature_trees_early(const double* x, double y, double weight) {
        if (features_ == 0 || residual_trees_.rows() > 0)
            return;
        if (feature_trees_.rows() == 0)
            final_.move_head_start(at(Member::feature_trees));
        for (Index j = 0; j < features_; ++j)
            residual_row_[j] = static_cast<float>(saturate(x[j], 1e30));
        feature_trees_.learn(residual_row_.data(), held(y) - history_.overall_mean(), weight);
    }
    void teach_final_mixture(const double* record, double y, double weight) {
        const RecordFields fields = view(record);
        y = held(y);
        if (fields.known() == 0)
            return;
        final_.learn(fields.said, fields.layer, fields.mixed(), y, weight, static_cast<Index>(fields.delay()));
        first_rows_.learn(fields.mixed(), fields.last(), y, weight, fields.known());
        stack_.learn(fields.said, y, weight);
    }
    void teach_scale(const double* record, Index features_then, double y, double weight) {
        if (const RecordFields fields = view(record); fields.known() > 0)
            scale_.learn(fields, saturate(y - labels_.hold(fields.prediction()), DBL_MAX), weight,
                         features_then == features_);
    }
    // `last` is the newest label known when the row was predicted. It is null if the label carries no information: for a
    // row predicted before the first label, or a value that replaces an outlier.
    void remember(const double* x, double y, const double* last = nullptr) {
        y = held(y);
        history_.remember(x, y, last);
        const double change = last ? y - *last : 0;
        profiles_.remember(x, y, last ? &change : nullptr, history_.mean());
        range_.add(y);
    }
    // Replaces the newest label.
    void reinstate(double y) {
        history_.replace_newest(held(y));
        range_.widen(held(y));
    }
    static double core_of(const double* record) { return record[head_size]; }
    // The variance of the row's error, relative to other rows.
    static double variance_of(const double* record) { return record[head_size + members + FinalMixture::layers]; }
    double variance() const { return variance_of(record_.data()); }

    void grow(Index more) {
        history_.grow(more);
        differences_.grow(more);
        profiles_.grow(more);
        trees_.grow(2 * more);
        residual_trees_.grow(2 * more);
        feature_trees_.grow(more);
        scale_.grow(more);
        features_ += more;
        make_room();
    }

    void shares(double* out) const {
        final_.shares(out);
        if (!feature_trees_.ready()) // until then its weight is the core's
            out[at(Member::core)] += std::exchange(out[at(Member::feature_trees)], 0.0);
    }
    const Profiles& profiles() const { return profiles_; }
    const Trees& trees() const { return trees_; }
    const Trees& residual_trees() const { return residual_trees_; }
    const Trees& feature_trees() const { return feature_trees_; }

    std::vector<double> layout() const {
        std::vector<double> out;
        profiles_.layout(out);
        trees_.layout(out);
        residual_trees_.layout(out);
        feature_trees_.layout(out);
        scale_.layout(out);
        return out;
    }
    bool set_layout(const std::vector<double>& from) {
        const double *at = from.data(), *end = at + from.size();
        at = profiles_.set_layout(at, end);
        at = at ? trees_.set_layout(at, end) : nullptr;
        at = at ? residual_trees_.set_layout(at, end) : nullptr;
        at = at ? feature_trees_.set_layout(at, end) : nullptr;
        at = at ? scale_.set_layout(at, end) : nullptr;
        return at == end;
    }
    template <class Act> void visit(Act&& act) {
        history_.visit(act);
        range_.visit(act);
        differences_.visit(act);
        profiles_.visit(act);
        usual_.visit(act);
        trees_.visit(act, tree_columns, residual_trees_.kept()); // the features' columns are those of the residual trees
        residual_trees_.visit(act, residual_trees_.columns(), 0);
        feature_trees_.visit(act, 0, residual_trees_.kept());
        stack_.visit(act);
        final_.visit(act);
        first_rows_.visit(act);
        scale_.visit(act);
    }
    // Completes a loaded state. Returns false if learning `rows` rows cannot lead to it.
    bool complete(double rows) {
        usual_.weigh();
        final_.weigh();
        const bool aligned = trees_.rows() == residual_trees_.rows() && (features_ > 0 || feature_trees_.rows() == 0);
        if (!aligned || history_.count() != rows || range_.count() != rows || !profiles_.good(rows) || !scale_.good())
            return false;
        if (feature_trees_.rows() > residual_trees_.rows())
            final_.keep_head_start(at(Member::feature_trees));
        trees_.copy_features(residual_trees_);
        feature_trees_.copy_features(residual_trees_);
        return trees_.complete() && residual_trees_.complete() && feature_trees_.complete();
    }
    // Calls act with every second-order model.
    template <class Act> void each_model(Act&& act) {
        act(differences_.fit().model());
        act(profiles_.fit().model());
        act(scale_.full().model());
        act(scale_.recent().model());
        act(stack_.model());
    }
    bool has_good_counts() {
        const auto good = [](double rows) { return rows >= 0 && rows < 9e15 && rows == std::floor(rows); };
        return good(differences_.fit().rows()) && good(profiles_.fit().rows()) && good(scale_.full().rows()) &&
               good(scale_.recent().rows());
    }

  private:
    // Clamps a label so that its square is finite.
    static double held(double y) { return saturate(y, 1e150); }
    static constexpr Index at(Member member) { return static_cast<Index>(member); }
    RecordFields view(double* record) const { return RecordLayout{features_, lags_}.view(record); }
    RecordFields view(const double* record) const { return view(const_cast<double*>(record)); }
    void make_room() {
        record_.resize(static_cast<std::size_t>(record_size()));
        row_.resize(static_cast<std::size_t>(trees_.columns()));
        residual_row_.resize(static_cast<std::size_t>(residual_trees_.columns()));
    }
    // The features without their changes, in single precision.
    const float* features_of(const RecordFields& fields) {
        const double* from = fields.residual_trees + residual_columns;
        for (Index j = 0; j < features_; ++j)
            residual_row_[j] = static_cast<float>(saturate(from[2 * j], 1e30));
        return residual_row_.data();
    }
    void ask_regressions(const PredictionContext& context, RecordFields& fields) {
        const double last = context.near[0];
        if (differences_.ready() && Differences::sees(context))
            fields.said_by(Member::differences) = differences_.predict(fields.differences, last);
        if (profiles_.ready())
            fields.said_by(Member::profiles) = profiles_.predict(fields.profiles, last);
        fields.said_by(Member::usual) = usual_.mixed(0, fields.usual);
    }
    // Writes levels, changes from the newest label, seasonal labels, the newest label and the mean.
    void write_usual(const PredictionContext& context, const LabelRange& range, RecordFields& fields) const {
        double* to = fields.usual;
        for (Index k = 0; k < profile_columns; ++k)
            *to++ = range.known ? range.hold(fields.profiles[k] + context.near[0], 0.5) : context.near[0];
        to = std::copy_n(context.seasons, far_count, to);
        *to++ = context.near[0];
        *to++ = history_.mean();
    }
    void write_trees(const PredictionContext& context, RecordFields& fields) const {
        const double *near = context.near, base = context.base, *said = fields.said;
        double* to = fields.trees;
        *to++ = near[0];
        for (Index k = 0; k < 4; ++k)
            *to++ = near[k] - base;
        *to++ = near[0] - 2 * near[1] + near[2];
        *to++ = near[1] - near[2];
        *to++ = near[2] - near[3];
        for (Index k = 0; k < far_count; ++k)
            *to++ = context.seasons[k] - base;
        to = std::copy_n(fields.profiles, profile_columns, to);
        for (const Member member : {Member::differences, Member::profiles, Member::usual})
            *to++ = said[at(member)] - base;
        to = write_changes(context, to);
        to = fields.residual_trees;
        for (const double value : {near[0], near[0] - said[0], near[1] - said[0], said[at(Member::differences)] - said[0],
                                   said[at(Member::profiles)] - said[0]})
            *to++ = value;
        write_changes(context, to);
    }
    double* write_changes(const PredictionContext& context, double* to) const {
        for (Index j = 0; j < features_; ++j) {
            *to++ = context.x[j];
            *to++ = context.x[j] - context.earlier(1, features_)[j];
        }
        return to;
    }

    Index features_;
    Limits labels_; // predictions stay inside
    Index lags_;
    RowHistory history_;
    RecentRange range_;
    Differences differences_;
    Profiles profiles_;
    Mixtures usual_;
    Trees trees_, residual_trees_,
        feature_trees_; // fitted to the label minus its base, its prediction by the core, the mean
    GuardedStack stack_;
    FinalMixture final_;
    FirstRows first_rows_;
    ErrorScale scale_;
    std::vector<double> record_;
    std::vector<float> row_, residual_row_; // the inputs of trees in single precision
};

} // namespace driftline
