// Auto's experts besides the linear core: autoregression in differences, profiles, a regression on usual values, two tree
// ensembles and a stack of them all; and the jury that combines their predictions.
//
// Experts learn a row from the inputs available when it was predicted, so those inputs are recorded then.
#pragma once

#include "driftline/ensembles/differences.hpp"
#include "driftline/ensembles/jury.hpp"
#include "driftline/ensembles/profiles.hpp"
#include "driftline/ensembles/stack.hpp"
#include "driftline/ensembles/trees.hpp"

namespace driftline {

// The stack combines the members listed before `cut`, which is the core clamped to the recent range of labels.
enum class Member : int { core, differences, profiles, usual, trees, residual_trees, cut, stack };
inline constexpr Index members = 8;

class Team {
  public:
    Team(Index features, Index born)
        : features_(features), lags_(Differences::lags(born)), trail_(features, std::max<Index>(lags_, 1)),
          differences_(features, lags_), profiles_(features),
          usual_(usual_columns, {0.998}, std::vector<double>(usual_columns)),
          trees_(tree_columns + 2 * features, {2048, 0.25, 0.2}),
          residual_trees_(residual_columns + 2 * features, {4096, 1, 0.1}), stack_(at(Member::cut)), jury_(members) {
        make_room();
    }

    // Combines the core's prediction with the other members', and records the inputs that learning needs.
    double predict(const double* x, Index ahead, double core) {
        const LabelRange range = ask_linear(x, ahead, core, notes_.data());
        ask_trees(notes_.data());
        ask_residual_trees(notes_.data());
        return mix(notes_.data(), range);
    }
    // The stages of a prediction, in order. They share nothing but the notes, so a stage may run as many rows ahead of
    // the next as there are notes.
    LabelRange ask_linear(const double* x, Index ahead, double core, double* notes) {
        const LabelRange range = range_.now();
        Outlook outlook;
        trail_.look(x, ahead, outlook);
        Note note = view(notes);
        note.head[0] = static_cast<double>(outlook.known);
        note.head[1] = static_cast<double>(ahead);
        note.head[2] = outlook.near[0];
        note.head[3] = outlook.base;
        std::fill_n(note.said, members, core);
        differences_.write(outlook, note.differences);
        profiles_.write(outlook, trail_.mean(), note.profiles);
        write_usual(outlook, range, note);
        if (outlook.known > 0)
            ask_regressions(outlook, note);
        write_trees(outlook, note);
        return range;
    }
    void ask_trees(double* notes) {
        const Note note = view(notes);
        if (trees_.ready())
            note.said[at(Member::trees)] = note.head[3] + trees_.predict(narrowed(note.trees, row_));
    }
    void ask_residual_trees(double* notes) {
        const Note note = view(notes);
        if (residual_trees_.ready())
            note.said[at(Member::residual_trees)] =
                note.said[0] + residual_trees_.predict(narrowed(note.residual_trees, residual_row_));
    }
    // `range` is the range of labels when the row was predicted.
    double mix(double* notes, const LabelRange& range) {
        const Note note = view(notes);
        double* said = note.said;
        if (range.known) {
            said[at(Member::cut)] = range.hold(said[0], 0.1);
            for (Index k = 1; k < at(Member::cut); ++k)
                said[k] = range.hold(said[k], 0.5);
        }
        said[at(Member::stack)] = stack_.predict(said);
        return note.head[4] = saturate(jury_.mix(said, note.layer), DBL_MAX);
    }
    // The notes of the last prediction, and their length.
    const double* notes() const { return notes_.data(); }
    Index notes_size() const { return notes_size(features_); }
    Index notes_size(Index features) const {
        return head_size + members + Jury::layers + usual_columns + near_labels + features * lags_ + profile_fixed +
               features + tree_columns + 2 * features + residual_columns + 2 * features;
    }

    // Learns the label of a row. If the notes predate a new feature, only the members that do not depend on features
    // learn.
    void learn(const double* notes, Index features_then, const double* x, double y, double weight) {
        teach_jury(notes, y, weight);
        if (features_then == features_) {
            teach_trees(notes, y, weight);
            teach_residual_trees(notes, y, weight);
        }
        teach_linear(notes, features_then, x, y, weight);
    }
    // The stages of learning.
    void teach_linear(const double* notes, Index features_then, const double* x, double y, double weight) {
        const Note note = view(const_cast<double*>(notes));
        y = held(y);
        const double last = note.head[2];
        if (known(note) > 0) {
            usual_.learn(note.usual, y, weight);
            if (features_then == features_)
                profiles_.learn(note.profiles, last, y, weight);
            if (features_then == features_ && known(note) >= near_labels)
                differences_.learn(note.differences, last, y, weight);
        }
        remember(x, y, known(note) > 0 ? &last : nullptr);
    }
    void teach_trees(const double* notes, double y, double weight) {
        const Note note = view(const_cast<double*>(notes));
        if (known(note) >= near_labels)
            trees_.learn(narrowed(note.trees, row_), held(y) - note.head[3], weight);
    }
    void teach_residual_trees(const double* notes, double y, double weight) {
        const Note note = view(const_cast<double*>(notes));
        if (known(note) >= near_labels)
            residual_trees_.learn(narrowed(note.residual_trees, residual_row_), held(y) - note.said[0], weight);
    }
    void teach_jury(const double* notes, double y, double weight) {
        const Note note = view(const_cast<double*>(notes));
        y = held(y);
        if (known(note) == 0)
            return;
        jury_.learn(note.said, note.layer, note.head[4], y, weight, static_cast<Index>(note.head[1]));
        stack_.learn(note.said, y, weight);
    }
    // `last` is the newest label known when the row was predicted. It is null if the label carries no information: for a
    // row predicted before the first label, or a value that replaces an outlier.
    void remember(const double* x, double y, const double* last = nullptr) {
        y = held(y);
        trail_.remember(x, y, last);
        const double change = last ? y - *last : 0;
        profiles_.remember(x, y, last ? &change : nullptr, trail_.mean());
        range_.add(y);
    }
    static double core_of(const double* notes) { return notes[head_size]; }

    void grow(Index more) {
        trail_.grow(more);
        differences_.grow(more);
        profiles_.grow(more);
        trees_.grow(2 * more);
        residual_trees_.grow(2 * more);
        features_ += more;
        make_room();
    }

    void shares(double* out) const { jury_.shares(out); }
    const Profiles& profiles() const { return profiles_; }
    const Trees& trees() const { return trees_; }
    const Trees& residual_trees() const { return residual_trees_; }
    static constexpr Index head_size = 5, usual_columns = profile_columns + far_count + 2,
                           profile_fixed = profile_columns + 4, tree_columns = 1 + 4 + 3 + far_count + profile_columns + 3,
                           residual_columns = 5;

    std::vector<double> layout() const {
        std::vector<double> out;
        profiles_.layout(out);
        trees_.layout(out);
        residual_trees_.layout(out);
        return out;
    }
    bool set_layout(const std::vector<double>& from) {
        const double *at = from.data(), *end = at + from.size();
        at = profiles_.set_layout(at, end);
        at = at ? trees_.set_layout(at, end) : nullptr;
        at = at ? residual_trees_.set_layout(at, end) : nullptr;
        return at == end;
    }
    template <class Act> void visit(Act&& act) {
        trail_.visit(act);
        range_.visit(act);
        differences_.visit(act);
        profiles_.visit(act);
        usual_.visit(act);
        trees_.visit(act, tree_columns); // the rest are the residual trees' columns
        residual_trees_.visit(act, residual_trees_.columns());
        stack_.visit(act);
        jury_.visit(act);
    }
    // Completes a loaded state. Returns false if learning `rows` rows cannot lead to it.
    bool complete(double rows) {
        usual_.weigh();
        jury_.weigh();
        return trail_.count() == rows && range_.count() == rows && profiles_.good(rows) &&
               trees_.copy_columns(residual_trees_, tree_columns) && trees_.complete() && residual_trees_.complete();
    }
    // Calls act with every second-order model.
    template <class Act> void each_model(Act&& act) {
        act(differences_.fit().model());
        act(profiles_.fit().model());
        act(stack_.model());
    }
    bool has_good_counts() {
        const auto good = [](double rows) { return rows >= 0 && rows < 9e15 && rows == std::floor(rows); };
        return good(differences_.fit().rows()) && good(profiles_.fit().rows());
    }

  private:
    // Offsets in the notes.
    struct Note {
        double *head, *said, *layer, *usual, *differences, *profiles, *trees, *residual_trees;
    };
    // Clamps a label so that its square is finite.
    static double held(double y) { return saturate(y, 1e150); }
    static constexpr Index at(Member member) { return static_cast<Index>(member); }
    Note view(double* from) const {
        Note out{};
        const auto take = [&](double*& place, Index count) {
            place = from;
            from += count;
        };
        take(out.head, head_size); // number of known labels, ahead, the newest label, the base, the prediction
        take(out.said, members);
        take(out.layer, Jury::layers);
        take(out.usual, usual_columns);
        take(out.differences, differences_.columns());
        take(out.profiles, profiles_.columns());
        take(out.trees, trees_.columns());
        take(out.residual_trees, residual_trees_.columns());
        return out;
    }
    void make_room() {
        notes_.resize(static_cast<std::size_t>(notes_size()));
        row_.resize(static_cast<std::size_t>(trees_.columns()));
        residual_row_.resize(static_cast<std::size_t>(residual_trees_.columns()));
    }
    static Index known(const Note& note) { return static_cast<Index>(note.head[0]); }
    void ask_regressions(const Outlook& outlook, Note& note) {
        const double last = outlook.near[0];
        if (differences_.ready() && Differences::sees(outlook))
            note.said[at(Member::differences)] = differences_.predict(note.differences, last);
        if (profiles_.ready())
            note.said[at(Member::profiles)] = profiles_.predict(note.profiles, last);
        note.said[at(Member::usual)] = usual_.mixed(0, note.usual);
    }
    // Writes levels, changes from the newest label, seasonal labels, the newest label and the mean.
    void write_usual(const Outlook& outlook, const LabelRange& range, Note& note) const {
        double* to = note.usual;
        for (Index k = 0; k < profile_columns; ++k)
            *to++ = range.known ? range.hold(note.profiles[k] + outlook.near[0], 0.5) : outlook.near[0];
        to = std::copy_n(outlook.seasons, far_count, to);
        *to++ = outlook.near[0];
        *to++ = trail_.mean();
    }
    void write_trees(const Outlook& outlook, Note& note) const {
        const double *near = outlook.near, base = outlook.base, *said = note.said;
        double* to = note.trees;
        *to++ = near[0];
        for (Index k = 0; k < 4; ++k)
            *to++ = near[k] - base;
        *to++ = near[0] - 2 * near[1] + near[2];
        *to++ = near[1] - near[2];
        *to++ = near[2] - near[3];
        for (Index k = 0; k < far_count; ++k)
            *to++ = outlook.seasons[k] - base;
        to = std::copy_n(note.profiles, profile_columns, to);
        for (const Member member : {Member::differences, Member::profiles, Member::usual})
            *to++ = said[at(member)] - base;
        to = write_changes(outlook, to);
        to = note.residual_trees;
        for (const double value : {near[0] - said[0], near[1] - said[0], near[0], said[at(Member::differences)] - said[0],
                                   said[at(Member::profiles)] - said[0]})
            *to++ = value;
        write_changes(outlook, to);
    }
    double* write_changes(const Outlook& outlook, double* to) const {
        for (Index j = 0; j < features_; ++j) {
            *to++ = outlook.x[j];
            *to++ = outlook.x[j] - outlook.earlier(1, features_)[j];
        }
        return to;
    }
    static const float* narrowed(const double* from, std::vector<float>& row) {
        for (float& value : row)
            value = static_cast<float>(saturate(*from++, 1e30));
        return row.data();
    }

    Index features_, lags_;
    Trail trail_;
    RecentRange range_;
    Differences differences_;
    Profiles profiles_;
    Mixtures usual_;
    Trees trees_, residual_trees_; // fitted to the label minus its base, and to the core's residual
    GuardedStack stack_;
    Jury jury_;
    std::vector<double> notes_;
    std::vector<float> row_, residual_row_; // the rows in single precision
};

} // namespace driftline
