// Profiles: the usual label, and its usual change, for each value of a feature or pair of features.
//
// A feature with few values is a key by itself, and paired with a feature of at most seven values; any other feature is
// binned by the quantiles of its recent rows. Each value of a key has a running mean of the label and of its change from
// the newest known label. The keys that predict best by themselves enter a least-squares regression, along with the
// features and a few label differences. Calendars are not built in: hour and weekday are ordinary features.
#pragma once

#include <bit>

#include "driftline/ensembles/regression.hpp"
#include "driftline/ensembles/row_history.hpp"

namespace driftline {

inline constexpr Index profile_slots = 12, profile_columns = 2 * profile_slots;

// The distinct values of a feature, or the quantiles that separate its bins.
class Catalog {
  public:
    static constexpr Index most_values = 64, bins = 16;

    Index values() const { return many_ ? 0 : static_cast<Index>(values_.size()); }
    bool many() const { return many_; }
    void meet(double value) {
        if (many_ || place(value) >= 0)
            return;
        if (values() < most_values)
            return values_.push_back(value);
        many_ = true;
        values_.clear();
    }
    // The index of a value or of its bin; -1 if unknown.
    Index place(double value) const {
        if (many_)
            return values_.empty() ? -1 : std::lower_bound(values_.begin(), values_.end(), value) - values_.begin();
        const auto found = std::find(values_.begin(), values_.end(), value);
        return found == values_.end() ? -1 : found - values_.begin();
    }
    void divide(std::vector<double>& sample) {
        std::sort(sample.begin(), sample.end());
        values_.clear();
        for (Index b = 1; b < bins; ++b) {
            const double edge = sample[static_cast<std::size_t>(b) * sample.size() / bins];
            if (values_.empty() || edge > values_.back())
                values_.push_back(edge);
        }
    }
    double layout() const { return static_cast<double>(values_.size()) + (many_ ? most_values + 1 : 0); }
    bool set_layout(double size) {
        many_ = size > most_values;
        const double count = many_ ? size - most_values - 1 : size;
        if (!(count >= 0 && count <= (many_ ? bins - 1 : most_values) && count == std::floor(count)))
            return false;
        values_.assign(static_cast<std::size_t>(count), 0);
        return true;
    }
    template <class Act> void visit(Act&& act) { act(values_.data(), static_cast<Index>(values_.size())); }
    bool good() const { return !many_ || std::is_sorted(values_.begin(), values_.end()); }

  private:
    bool many_ = false;
    std::vector<double> values_; // in order of first appearance; or the edges of the bins
};

class Profiles {
  public:
    explicit Profiles(Index features) : features_(features), fit_(profile_columns + label_columns + features, 0.999, 1) {
        std::fill(slots_, slots_ + profile_slots, -1);
        follow_features();
    }

    Index columns() const { return fit_.columns(); }
    bool ready() const { return fit_.ready(); }
    // Writes the usual level (relative to the newest label) and the usual change for each chosen key, then the labels and
    // the features.
    void write(const PredictionContext& context, double mean, double* row) const {
        const double last = context.near[0];
        for (const double slot : slots_) {
            const Key* key = slot < 0 ? nullptr : &keys_[static_cast<std::size_t>(slot)];
            const Index at = key ? place(*key, context.x) : -1;
            const Cell cell =
                at >= 0 && at < static_cast<Index>(key->cells.size()) ? key->cells[static_cast<std::size_t>(at)] : Cell{};
            *row++ = cell.usual_level(mean) - last;
            *row++ = cell.usual_change();
        }
        *row++ = last;
        for (Index k = 1; k < label_columns; ++k)
            *row++ = context.near[k - 1] - context.near[k];
        std::copy_n(context.x, features_, row);
    }
    // Writes the place of each feature's value among those met; -1 if it has none.
    void write_places(const double* x, double* to) const {
        for (Index j = 0; j < features_; ++j)
            to[j] = j < static_cast<Index>(catalogs_.size()) ? static_cast<double>(catalogs_[j].place(x[j])) : -1;
    }
    double predict(const double* row, double last) { return last + fit_.predict(row); }
    void learn(const double* row, double last, double y, double weight) { fit_.learn(row, y - last, weight); }
    // Adds a row and its label to the tables. `change` is the label minus the newest label known at prediction time, or
    // null if none was.
    void remember(const double* x, double y, const double* change, double mean) {
        const Index width = static_cast<Index>(catalogs_.size()), at = static_cast<Index>(rows_) % recent_rows;
        for (Index j = 0; j < width; ++j) {
            catalogs_[j].meet(x[j]);
            recent_[at * width + j] = static_cast<float>(saturate(x[j], FLT_MAX));
        }
        rows_ += 1;
        for (Key& key : keys_)
            update(key, x, y, change, mean);
        if (rows_ >= first_choice && std::has_single_bit(static_cast<std::size_t>(rows_)))
            choose();
    }
    void grow(Index more) {
        const Index before = static_cast<Index>(catalogs_.size());
        std::vector<float> recent = std::move(recent_);
        fit_.grow(more, profile_columns + label_columns + features_);
        features_ += more;
        follow_features();
        const Index width = static_cast<Index>(catalogs_.size());
        for (Index t = 0; t < recent_rows; ++t)
            std::copy_n(recent.begin() + t * before, before, recent_.begin() + t * width);
    }

    // The features of the key in slot s (-1 if none), and the share of label variance that it leaves unexplained.
    struct Choice {
        Index first = -1, second = -1;
        double left = 1;
    };
    Choice choice(Index s) const {
        if (slots_[s] < 0)
            return {};
        const Key& key = keys_[static_cast<std::size_t>(slots_[s])];
        return {static_cast<Index>(key.first), static_cast<Index>(key.second),
                key.spread > 0 ? at_most(key.level_loss / key.spread, 1) : 1};
    }

    // The sizes of the arrays in the state: one number per catalog, then three per key.
    void layout(std::vector<double>& out) const {
        for (const Catalog& catalog : catalogs_)
            out.push_back(catalog.layout());
        out.push_back(static_cast<double>(keys_.size()));
        for (const Key& key : keys_)
            out.insert(out.end(), {key.first, key.second, static_cast<double>(key.cells.size())});
    }
    // Allocates arrays of these sizes. Returns the position after them, or null if they are invalid.
    const double* set_layout(const double* from, const double* end) {
        const Index width = static_cast<Index>(catalogs_.size());
        if (end - from < width + 1)
            return nullptr;
        for (Catalog& catalog : catalogs_)
            if (!catalog.set_layout(*from++))
                return nullptr;
        const double count = *from++;
        if (!(count >= static_cast<double>(width) && count <= static_cast<double>(width + most_pairs)) ||
            count != std::floor(count) || static_cast<double>(end - from) < 3 * count)
            return nullptr;
        keys_.assign(static_cast<std::size_t>(count), Key{});
        for (Key& key : keys_) {
            key.first = *from++;
            key.second = *from++;
            const double cells = *from++;
            if (!is_feature(key.first) || !(key.second == -1 || is_feature(key.second)) ||
                !(cells >= 0 && cells <= most_cells) || cells != std::floor(cells))
                return nullptr;
            key.cells.assign(static_cast<std::size_t>(cells), Cell{});
        }
        return from;
    }
    template <class Act> void visit(Act&& act) {
        act(&rows_, 1);
        act(slots_, profile_slots);
        act(recent_.data(), static_cast<Index>(recent_.size()));
        for (Catalog& catalog : catalogs_)
            catalog.visit(act);
        for (Key& key : keys_) {
            act(&key.level_loss, 3);
            act(reinterpret_cast<double*>(key.cells.data()), static_cast<Index>(3 * key.cells.size()));
        }
        fit_.visit(act);
    }
    bool good(double rows) const {
        bool fine = rows_ == rows;
        for (const double slot : slots_)
            fine = fine && slot >= -1 && slot < static_cast<double>(keys_.size()) && slot == std::floor(slot);
        for (const Catalog& catalog : catalogs_)
            fine = fine && catalog.good();
        return fine;
    }
    Regression& fit() { return fit_; }

  private:
    static constexpr Index label_columns = 4, most_features = 48, most_partners = 7, recent_rows = 192, most_pairs = 24,
                           first_choice = 32, most_cells = Catalog::most_values * most_partners;
    static constexpr double least_rate = 0.05, keep = 0.998;
    struct Cell {
        double rows = 0, level = 0, change = 0;
        double usual_level(double mean) const { return (rows * level + mean) / (rows + 1); }
        double usual_change() const { return rows * change / (rows + 1); }
        void add(double y, const double* moved, double share) {
            rows += share;
            const double step = share * at_least(least_rate, 1 / at_least(1, rows));
            level += step * (y - level);
            change += moved ? step * (*moved - change) : 0;
        }
    };
    struct Key {
        double first = 0, second = -1;                      // features; second is -1 for a single feature
        double level_loss = 0, change_loss = 0, spread = 0; // discounted sums of squares
        std::vector<Cell> cells{};
        double loss() const { return at_most(level_loss, change_loss); }
    };

    bool is_feature(double j) const { return j >= 0 && j < static_cast<double>(catalogs_.size()) && j == std::floor(j); }
    void follow_features() {
        for (Index j = static_cast<Index>(catalogs_.size()); j < std::min(features_, most_features); ++j)
            keys_.push_back({static_cast<double>(j), -1});
        catalogs_.resize(static_cast<std::size_t>(std::min(features_, most_features)));
        recent_.assign(catalogs_.size() * recent_rows, 0);
    }
    Index place(const Key& key, const double* x) const {
        const auto a = static_cast<std::size_t>(key.first);
        const Index first = catalogs_[a].place(x[a]);
        if (key.second < 0 || first < 0)
            return first;
        const auto b = static_cast<std::size_t>(key.second);
        if (catalogs_[a].many() || !is_partner(catalogs_[b]))
            return -1;
        const Index second = catalogs_[b].place(x[b]);
        return second < 0 ? -1 : first * most_partners + second;
    }
    void update(Key& key, const double* x, double y, const double* change, double mean) {
        const Index at = place(key, x);
        if (at < 0)
            return;
        if (at >= static_cast<Index>(key.cells.size()))
            key.cells.resize(static_cast<std::size_t>(at + 1));
        Cell* cell = key.cells.data() + at;
        const auto add = [&](double& sum, double error) { sum = at_most(keep * sum + error * error, 1e290); };
        add(key.level_loss, y - cell->usual_level(mean));
        add(key.change_loss, change ? *change - cell->usual_change() : y - cell->usual_level(mean));
        add(key.spread, y - mean);
        cell->add(y, change, 1);
        if (catalogs_[static_cast<std::size_t>(key.first)].many()) { // neighbours count half
            if (at > 0)
                cell[-1].add(y, change, 0.5);
            if (at + 1 < static_cast<Index>(key.cells.size()))
                cell[1].add(y, change, 0.5);
        }
    }
    void choose() {
        divide_features();
        meet_pairs();
        drop_idle_cells();
        std::vector<Index> best;
        for (std::size_t k = 0; k < keys_.size(); ++k)
            if (keys_[k].level_loss > 0)
                best.push_back(static_cast<Index>(k));
        std::stable_sort(best.begin(), best.end(), [&](Index a, Index b) { return keys_[a].loss() < keys_[b].loss(); });
        best.resize(std::min<std::size_t>(best.size(), profile_slots));
        for (double& slot : slots_) { // keys that stay chosen keep their slot
            const auto found = std::find(best.begin(), best.end(), static_cast<Index>(slot));
            if (found == best.end())
                slot = -1;
            else
                best.erase(found);
        }
        for (double& slot : slots_)
            if (slot < 0 && !best.empty()) {
                slot = static_cast<double>(best.front());
                best.erase(best.begin());
            }
    }
    void divide_features() {
        const Index width = static_cast<Index>(catalogs_.size());
        std::vector<double> sample(static_cast<std::size_t>(std::min<Index>(static_cast<Index>(rows_), recent_rows)));
        for (Index j = 0; j < width; ++j) {
            if (!catalogs_[j].many())
                continue;
            for (std::size_t t = 0; t < sample.size(); ++t)
                sample[t] = recent_[static_cast<Index>(t) * width + j];
            catalogs_[j].divide(sample);
        }
    }
    // Frees cells that became unreachable because a feature turned out to have many values.
    void drop_idle_cells() {
        for (Key& key : keys_) {
            const bool many = catalogs_[static_cast<std::size_t>(key.first)].many();
            const bool idle = key.second >= 0 && (many || !is_partner(catalogs_[static_cast<std::size_t>(key.second)]));
            if (const std::size_t most = idle ? 0 : many ? Catalog::bins : most_cells; key.cells.size() > most) {
                key.cells.resize(most);
                key.cells.shrink_to_fit();
            }
        }
    }
    static bool is_partner(const Catalog& catalog) { return !catalog.many() && catalog.values() <= most_partners; }
    void meet_pairs() {
        const Index width = static_cast<Index>(catalogs_.size());
        for (Index a = 0; a < width; ++a)
            for (Index b = 0; b < width; ++b) {
                const Index values = catalogs_[a].values(), others = catalogs_[b].values();
                const bool pair = a != b && values > 1 && others > 1 && others <= most_partners;
                const bool twice = values <= most_partners && b < a;
                const auto same = [&](const Key& key) {
                    return key.first == static_cast<double>(a) && key.second == static_cast<double>(b);
                };
                if (pair && !twice && static_cast<Index>(keys_.size()) < width + most_pairs &&
                    std::none_of(keys_.begin(), keys_.end(), same))
                    keys_.push_back({static_cast<double>(a), static_cast<double>(b)});
            }
    }

    Index features_;
    std::vector<Catalog> catalogs_;
    std::vector<float> recent_; // the last rows
    std::vector<Key> keys_;
    double slots_[profile_slots]; // indices into the keys; -1: none
    double rows_ = 0;
    Regression fit_;
};

} // namespace driftline
