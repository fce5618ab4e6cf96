// Watches labels, predictions and inputs for changes, block by block, in bounded memory.
//
// Every block of every series is screened. What a screen finds opens an incident, which is judged 64 rows later: by then
// the rows since the onset tell the causes apart. Labels are judged only if no input changed at the onset or before.
#pragma once

#include <vector>

#include "driftline/base/alarm.hpp"
#include "driftline/events/channel.hpp"
#include "driftline/events/judge.hpp"

namespace driftline::events {

inline constexpr Index widest = 128, tail_kept = 2048, tail_size = 4096, patience = 64, most_events = 4096;
inline constexpr Index reach = 256;                       // rows before an alarm in which its onset may be
inline constexpr Index ongoing = 128, fewest_known = 192; // fewest rows since the last change that are compared with

struct Suspect {
    Index column, row; // the first row that looked wrong
    bool range, clear;
    double before, after;
};

// A watch as numbers, all but its alarm.
struct SavedWatch {
    std::vector<double> numbers, tail, channels, events, onsets, suspects, usual;
};

class Watch {
  public:
    explicit Watch(double limit) { alarm_.limit = limit; }

    Index rows() const { return count_; }
    Index width() const { return width_; }
    const std::vector<Event>& closed() const { return events_; }

    // The number of inputs; wider rows are watched without them. `coded` marks inputs whose values are codes.
    void widen(Index width, const std::vector<bool>& coded) {
        const Index own = width > widest ? 0 : width;
        if (own <= width_ && !channels_.empty())
            return;
        channels_.resize(static_cast<std::size_t>(own + 2));
        for (Index j = width_; j < own; ++j)
            channels_[static_cast<std::size_t>(j + 2)].coded = j < std::ssize(coded) && coded[static_cast<std::size_t>(j)];
        tail_.resize(static_cast<std::size_t>((own + 2) * tail_size), 0.0);
        width_ = own;
    }

    // Takes rows. input(i, j) is input j of row i.
    template <class Input> void add(const double* labels, const double* predictions, Index count, Input&& input) {
        for (Index done = 0; done < count;) {
            if (count_ - start_ == tail_size)
                forget();
            const Index at = count_ - start_, n = std::min(count - done, block - count_ % block);
            for (Index i = 0; i < n; ++i) {
                const double y = labels[done + i], e = y - predictions[done + i];
                column(0)[at + i] = y;
                column(1)[at + i] = std::isfinite(e) ? e : std::nan("");
            }
            for (Index j = 0; j < width_; ++j) {
                double* to = column(j + 2) + at;
                for (Index i = 0; i < n; ++i)
                    to[i] = input(done + i, j);
            }
            count_ += n, done += n;
            if (count_ % block == 0)
                look();
        }
    }

    const Alarm& alarm() const { return alarm_; }

    SavedWatch save() const {
        SavedWatch out;
        for (const Index number : {width_, count_, start_, found_, labels_found_, due_, alarm_row_, explained_from_,
                                   explained_until_, late_until_, changed_, fitted_, refit_})
            out.numbers.push_back(static_cast<double>(number));
        for (const bool truth : {is_open_, labels_suspected_, labels_clear_})
            out.numbers.push_back(truth);
        for (Index j = 0; j < width_ + 2; ++j)
            out.tail.insert(out.tail.end(), tail_.data() + j * tail_size, tail_.data() + j * tail_size + count_ - start_);
        const auto put = [&](const Channel& channel) {
            const auto* from = reinterpret_cast<const double*>(&channel);
            out.channels.insert(out.channels.end(), from, from + channel_size);
        };
        std::for_each(channels_.begin(), channels_.end(), put);
        put(innovations_);
        for (const Event& e : events_)
            for (const double value : {static_cast<double>(e.row), static_cast<double>(e.found), static_cast<double>(e.kind),
                                       static_cast<double>(e.column), e.before, e.after, e.confidence})
                out.events.push_back(value);
        out.onsets.assign(onsets_.begin(), onsets_.end());
        for (const Suspect& s : suspects_)
            for (const double value : {static_cast<double>(s.column), static_cast<double>(s.row),
                                       static_cast<double>(s.range), static_cast<double>(s.clear), s.before, s.after})
                out.suspects.push_back(value);
        if (fitted_ >= 0) {
            const Usual& u = usual_;
            out.usual = {static_cast<double>(u.used.size()),
                         static_cast<double>(u.lags.size()),
                         u.mean,
                         u.deviation,
                         u.scale,
                         u.clipped};
            out.usual.insert(out.usual.end(), u.used.begin(), u.used.end());
            for (const auto* part : {&u.centre, &u.spread})
                out.usual.insert(out.usual.end(), part->begin(), part->end());
            out.usual.insert(out.usual.end(), u.lags.begin(), u.lags.end());
            out.usual.insert(out.usual.end(), u.beta.begin(), u.beta.end());
        }
        return out;
    }

    // Takes over what save() returned; false if no watch can have saved it.
    bool restore(const SavedWatch& from, const Alarm& alarm) {
        Watch own(alarm.limit);
        own.alarm_ = alarm;
        if (from.numbers.size() != 16)
            return false;
        for (const double number : from.numbers)
            if (!(std::fabs(number) <= 9007199254740992.0) || number != std::floor(number))
                return false;
        const double* number = from.numbers.data();
        for (Index* to :
             {&own.width_, &own.count_, &own.start_, &own.found_, &own.labels_found_, &own.due_, &own.alarm_row_,
              &own.explained_from_, &own.explained_until_, &own.late_until_, &own.changed_, &own.fitted_, &own.refit_})
            *to = static_cast<Index>(*number++);
        for (bool* to : {&own.is_open_, &own.labels_suspected_, &own.labels_clear_})
            *to = *number++ != 0;
        const Index kept = own.count_ - own.start_, columns = own.width_ + 2;
        if (own.width_ < 0 || own.width_ > widest || own.start_ < 0 || kept < 0 || kept > tail_size ||
            own.changed_ > own.count_ || own.changed_ < 0 || own.alarm_row_ >= own.count_ ||
            (own.count_ > 0 && own.due_ > own.count_ + patience) || std::ssize(from.tail) != columns * kept ||
            std::ssize(from.channels) % channel_size != 0 || from.events.size() % 7 != 0 || from.suspects.size() % 6 != 0 ||
            from.events.size() > 7 * most_events || from.suspects.size() > 6 * 16)
            return false;
        const Index known = std::ssize(from.channels) / channel_size - 1;
        if (known != columns && !(own.count_ == 0 && known == 0))
            return false;
        own.channels_.resize(static_cast<std::size_t>(known));
        own.tail_.resize(static_cast<std::size_t>(known * tail_size), 0.0);
        for (Index j = 0; j < known; ++j)
            std::copy_n(from.tail.data() + j * kept, kept, own.tail_.data() + j * tail_size);
        bool sound = true;
        const auto take = [&](Channel& channel, Index place) {
            std::copy_n(from.channels.data() + place * channel_size, channel_size, reinterpret_cast<double*>(&channel));
            sound = sound && (channel.coded > 0 || (channel.codes >= 0 && channel.codes <= most_codes + 1)) &&
                    channel.codes >= 0 && channel.codes == std::floor(channel.codes) && std::isfinite(channel.codes);
        };
        for (Index j = 0; j < known; ++j)
            take(own.channels_[static_cast<std::size_t>(j)], j);
        take(own.innovations_, known);
        const auto is_row = [&](double row) {
            return row >= 0 && row < static_cast<double>(own.count_) && row == std::floor(row);
        };
        const auto is_column = [&](double j) {
            return j >= -1 && j < static_cast<double>(own.width_) && j == std::floor(j);
        };
        for (std::size_t i = 0; sound && i < from.events.size(); i += 7) {
            const double* e = from.events.data() + i;
            sound = is_row(e[0]) && is_row(e[1]) && e[2] >= 0 && e[2] < kinds && e[2] == std::floor(e[2]) && is_column(e[3]);
            if (sound)
                own.events_.push_back({static_cast<Index>(e[0]), static_cast<Index>(e[1]), static_cast<int>(e[2]),
                                       static_cast<Index>(e[3]), e[4], e[5], e[6]});
        }
        for (const double row : from.onsets) {
            sound = sound && row < static_cast<double>(own.count_) && row > -9007199254740992.0 && row == std::floor(row);
            if (sound)
                own.onsets_.push_back(static_cast<Index>(row));
        }
        for (std::size_t i = 0; sound && i < from.suspects.size(); i += 6) {
            const double* s = from.suspects.data() + i;
            sound = is_column(s[0]) && s[0] >= 0 && s[1] < static_cast<double>(own.count_) &&
                    std::fabs(s[1]) < 9007199254740992.0;
            if (sound)
                own.suspects_.push_back(
                    {static_cast<Index>(s[0]), static_cast<Index>(s[1]), s[2] != 0, s[3] != 0, s[4], s[5]});
        }
        if (!sound || (own.fitted_ >= 0) != !from.usual.empty() || !own.restore_usual(from.usual))
            return false;
        *this = own;
        return true;
    }

    // All events in order; an incident that is still open is judged by the rows so far.
    std::vector<Event> events() const {
        Watch now(*this);
        if (now.is_open_)
            now.judge();
        std::stable_sort(now.events_.begin(), now.events_.end(),
                         [](const Event& a, const Event& b) { return a.row < b.row; });
        return now.events_;
    }

    // What distinguishes the rows from `from` to before `to` from those before: what the screens see at once, inputs that
    // moved, and otherwise what labels do.
    static std::vector<Event> explain(const Rows& rows, Index from, Index to, const std::vector<bool>& coded) {
        std::vector<Event> found;
        for (Index j = 0; j < rows.width; ++j)
            explain_input(rows, j, from, to, j < std::ssize(coded) && coded[static_cast<std::size_t>(j)], found);
        Channel labels;
        screen(labels, rows.labels, from, to, false, [&](const Sight& sight, Index first) {
            if (sight.stuck)
                found.push_back({first + sight.at, from, label_stuck, of_label, sight.before, sight.after, 0.99});
        });
        Index onset = 0;
        const double rare = -std::log((labels.ties + 2) / (labels.seen + 2));
        if (from > most_late && !labels.discrete())
            if (const Index late = lateness(rows.labels, std::min(to - from, to - 4 * most_late), to, rare, onset); late > 0)
                found.push_back({onset, from, label_late, of_label, 0, static_cast<double>(late), 0.99});
        if (!found.empty())
            return found;
        const Finding own = judge_labels(rows, 0, from, to, {from}, true);
        if (own.kind != kinds && own.gain > alarm_gain && own.confidence > sure)
            return {{from, from, own.kind, own.column, own.before, own.after, own.confidence}};
        return {{from, from, unknown, of_label, root_mean_square(rows.errors, 0, from),
                 root_mean_square(rows.errors, from, to), 1 - own.confidence}};
    }

  private:
    static constexpr Index channel_size = sizeof(Channel) / sizeof(double);
    static_assert(sizeof(Channel) % sizeof(double) == 0);

    bool restore_usual(const std::vector<double>& from) {
        if (from.empty())
            return true;
        if (from.size() < 6 || !(from[0] >= 0 && from[0] <= most_inputs) || !(from[1] >= 2 && from[1] <= 4))
            return false;
        const auto used = static_cast<std::size_t>(from[0]), lags = static_cast<std::size_t>(from[1]);
        if (from.size() != 6 + 3 * used + lags + 1 + used + lags)
            return false;
        Usual& u = usual_;
        u.mean = from[2], u.deviation = from[3], u.scale = from[4], u.clipped = from[5];
        const double* next = from.data() + 6;
        for (std::size_t k = 0; k < used; ++k, ++next) {
            if (!(*next >= 0 && *next < static_cast<double>(width_)))
                return false;
            u.used.push_back(static_cast<Index>(*next));
        }
        u.centre.assign(next, next + used);
        u.spread.assign(next + used, next + 2 * used);
        next += 2 * used;
        for (std::size_t k = 0; k < lags; ++k, ++next) {
            if (!(*next >= 1 && *next <= seasons[std::size(seasons) - 1] + 1))
                return false;
            u.lags.push_back(static_cast<Index>(*next));
        }
        u.beta.assign(next, next + 1 + used + lags);
        return true;
    }

    Index width_ = 0, count_ = 0, start_ = 0;
    Alarm alarm_;
    std::vector<Channel> channels_; // labels, errors, inputs
    Usual usual_;                   // what labels do, as of fitted_
    Channel innovations_;           // of the labels
    Index fitted_ = -1, refit_ = warm_up;
    std::vector<double> tail_; // the latest rows, column by column, from row start_ on
    std::vector<Event> events_;
    bool is_open_ = false;
    Index found_ = 0, labels_found_ = 0, due_ = 0, alarm_row_ = -1;
    bool labels_suspected_ = false, labels_clear_ = false;
    std::vector<Index> onsets_; // of the labels' change
    std::vector<Suspect> suspects_;
    Index explained_from_ = -1, explained_until_ = -1; // an input's change explains what labels do in these rows
    Index late_until_ = 0;                             // no look for late labels before that row
    Index changed_ = 0;                                // the last change of the labels

    // Screens the blocks up to row `to`, the first ones only to learn what is usual; calls see(sight, row) for those from
    // row `from` on.
    template <class See>
    static void screen(Channel& channel, const double* of, Index from, Index to, bool is_input, See&& see) {
        for (Index first = from % block; first + block <= to; first += block) {
            const Sight sight = channel.look(of + first, first, is_input);
            if (first >= from)
                see(sight, first);
        }
    }

    static void explain_input(const Rows& rows, Index j, Index from, Index to, bool coded, std::vector<Event>& found) {
        Channel own;
        own.coded = coded;
        const std::size_t before = found.size();
        Sight range;
        Index range_row = -1;
        screen(own, rows.inputs[j], from, to, true, [&](const Sight& sight, Index first) {
            if (sight.range && range_row < 0)
                range = sight, range_row = first + sight.at;
            const int kind = sight.stuck ? input_stuck : sight.missing ? input_missing : sight.fresh ? category_new : kinds;
            if (kind != kinds && found.size() == before)
                found.push_back({first + sight.at, from, kind, j, sight.before, sight.after, 0.99});
        });
        if (found.size() > before)
            return;
        const Finding one = own.discrete() ? Finding{} : judge_input(rows, j, 0, from, to, {from}, true);
        if ((one.kind == input_moved || one.kind == input_units) && one.gain > least_gain && one.confidence > sure)
            found.push_back({from, from, one.kind, j, one.before, one.after, one.confidence});
        else if (range_row >= 0)
            found.push_back({range_row, from, input_range, j, range.before, range.after, 0.95});
    }

    double* column(Index j) { return tail_.data() + j * tail_size; }
    Channel& channel(Index j) { return channels_[static_cast<std::size_t>(j)]; }

    void forget() {
        const Index drop = count_ - start_ - tail_kept;
        for (Index j = 0; j < width_ + 2; ++j)
            std::copy(column(j) + drop, column(j) + drop + tail_kept, column(j));
        start_ += drop;
    }

    void open(Index found) {
        if (!is_open_) {
            is_open_ = true;
            found_ = found, due_ = count_ + patience, alarm_row_ = -1;
            labels_suspected_ = labels_clear_ = false;
            onsets_.clear();
            suspects_.clear();
        }
    }

    void look() {
        const Index first = count_ - block, at = first - start_;
        Index raised = -1;
        watch(
            alarm_, block, [&](Index i) { return column(1)[at + i]; },
            [&](Index i, Index) { raised = raised < 0 ? i : raised; });
        for (Index j = 0; j < width_; ++j)
            look_at_input(j, channel(j + 2).look(column(j + 2) + at, first, true), first);
        bool known = false;
        if (Sight sight = channel(0).look(column(0) + at, first, false); sight.stuck) {
            known = true;
            emit({first + sight.at, count_ - 1, label_stuck, of_label, sight.before, sight.after, 0.99});
            settle(first + sight.at);
            explain_labels(first + sight.at, count_ + 8);
        } else {
            look_at_labels(first);
        }
        known = known || look_for_lateness();
        if (channel(0).is_stuck > 0)
            explain_labels(first, count_ + 8);
        if (raised >= 0 && !known) {
            suspect_labels(first + raised);
            alarm_row_ = alarm_row_ < 0 ? first + raised : alarm_row_;
        }
        if (is_open_ && count_ >= due_)
            judge();
    }

    void suspect_labels(Index row) {
        open(row);
        labels_found_ = labels_suspected_ ? std::min(labels_found_, row) : row;
        labels_suspected_ = true;
    }

    void look_at_labels(Index first) {
        if (count_ >= refit_) {
            std::vector<const double*> inputs;
            const Rows rows = view(inputs);
            const Index changed = std::max<Index>(changed_ - start_, 0), stop = rows.count;
            if (usual_.fit(rows, rows.labels, true, stop - changed < ongoing ? 0 : changed, stop, stop, false))
                fitted_ = count_, innovations_.scale = usual_.clipped, innovations_.seen = innovations_.rows = warm_up;
            refit_ = count_ + most_before;
            return;
        }
        if (fitted_ < 0)
            return;
        double values[block];
        std::vector<const double*> inputs;
        usual_.follow(view(inputs), first - start_, block, values);
        const Sight sight = innovations_.look(values, first, false, 6);
        if (!(sight.jump || sight.shift || sight.spread || sight.slow))
            return;
        suspect_labels(first + (sight.jump ? sight.at : block - 1));
        labels_clear_ = labels_clear_ || sight.clear;
        onsets_.push_back(sight.jump                    ? first + sight.at
                          : sight.shift || sight.spread ? first - block / 2
                                                        : first - 6 * block);
    }

    // Labels that begin to come later than before.
    bool look_for_lateness() {
        const Channel& labels = channel(0);
        if (labels.seen < warm_up || labels.discrete() || count_ < late_until_)
            return false;
        const double rare = -std::log((labels.ties + 2) / (labels.seen + 2));
        Index onset = 0;
        const Index late = lateness(column(0), block, count_ - start_, rare, onset);
        if (late == 0)
            return false;
        emit({onset + start_, count_ - 1, label_late, of_label, 0, static_cast<double>(late), 0.99});
        settle(onset + start_);
        explain_labels(onset + start_, count_ + 8);
        late_until_ = count_ + 2 * most_late;
        return true;
    }

    void look_at_input(Index j, const Sight& sight, Index first) {
        const Index row = first + sight.at;
        Channel& own = channel(j + 2);
        const auto now = [&](int kind) {
            emit({row, count_ - 1, kind, j, sight.before, sight.after, 0.99});
            explain_labels(row, row + 16);
            own.pause(static_cast<double>(count_ + patience), std::nan(""));
        };
        if (sight.stuck)
            now(input_stuck);
        else if (sight.missing)
            now(input_missing);
        else if (sight.fresh)
            now(category_new);
        else if (sight.range || ((sight.jump || sight.shift || sight.spread) && !own.intermittent())) {
            open(row);
            const bool known =
                std::any_of(suspects_.begin(), suspects_.end(), [j](const Suspect& s) { return s.column == j; });
            if (!known && suspects_.size() < 16)
                suspects_.push_back({j, !sight.jump && !sight.range ? first - block / 2 : row, sight.range, sight.clear,
                                     sight.before, sight.after});
        }
        if (own.is_stuck > 0 || own.is_missing > 0) {
            own.pause(static_cast<double>(count_ + patience), std::nan(""));
            explain_labels(first, count_ + 8);
        }
    }

    // What happens often is usual, and at first little is known of what does: both need more evidence.
    double often(Index column) const {
        double recent = 0;
        for (auto event = events_.rbegin(); event != events_.rend() && event->found > count_ - 4096; ++event)
            recent += event->column == column && (column != of_label || event->kind != label_stuck);
        return (1 + 0.5 * recent) * (1 + 1024 / static_cast<double>(count_));
    }

    // What labels do from `from` to `to` is the effect of an input, or of a label's change that is known already.
    void explain_labels(Index from, Index to) {
        if (from > explained_until_ + 1)
            explained_from_ = from;
        explained_until_ = std::max(explained_until_, to);
    }

    void emit(const Event& event) {
        events_.push_back(event);
        if (std::ssize(events_) > most_events)
            events_.erase(events_.begin());
    }

    // The labels' screens pause, and later changes are compared with the rows since this one.
    void settle(Index onset) {
        changed_ = onset;
        const Index until = count_ + patience, n = count_ - start_;
        channel(0).pause(static_cast<double>(until), mean_of(column(0), std::max<Index>(0, n - patience), n));
        innovations_.pause(static_cast<double>(count_ + 2 * block), 0); // the model is fitted anew before
        refit_ = std::max(onset + ongoing, count_ + block);
    }

    Rows view(std::vector<const double*>& inputs) {
        inputs.clear();
        for (Index j = 0; j < width_; ++j)
            inputs.push_back(column(j + 2));
        return {column(0), column(1), inputs.data(), count_ - start_, width_};
    }

    void judge() {
        is_open_ = false;
        std::vector<const double*> inputs;
        const Rows rows = view(inputs);
        const Index stop = rows.count;
        for (const Suspect& suspect : suspects_)
            judge_suspect(rows, suspect, stop);
        if (labels_suspected_)
            judge_own(rows, stop);
    }

    void judge_suspect(const Rows& rows, const Suspect& suspect, Index stop) {
        const Index row = suspect.row - start_;
        if (row < fewest_before)
            return;
        const Finding found = judge_input(rows, suspect.column, 0, std::max<Index>(row - 24, 0), stop, {row}, false);
        Channel& own = channel(suspect.column + 2);
        int kind = kinds;
        if ((found.kind == input_moved || found.kind == input_units) &&
            found.gain > (suspect.clear ? clear_gain : least_gain) * often(suspect.column) && found.confidence > sure)
            kind = found.kind;
        else if (suspect.range)
            kind = input_range;
        const Index onset = kind == input_range ? suspect.row : found.onset + start_;
        if (kind == kinds || static_cast<double>(onset) < own.changed + patience)
            return;
        own.changed = static_cast<double>(onset);
        Event event{suspect.row, std::max(found_, suspect.row), kind, suspect.column, suspect.before, suspect.after, 0.95};
        if (kind != input_range)
            event = {onset, std::max(found_, onset), kind, suspect.column, found.before, found.after, found.confidence};
        emit(event);
        explain_labels(event.row, event.row + 16);
        own.pause(static_cast<double>(count_ + patience),
                  kind == input_range ? std::nan("") : mean_of(rows.inputs[suspect.column], stop - patience, stop));
    }

    // Whether an input changed at a change of the labels, whatever the screens saw of it; then it is the cause.
    bool judge_inputs_at(const Rows& rows, Index onset, Index stop) {
        Finding best;
        for (Index j = 0; j < width_; ++j) {
            const Channel& own = channel(j + 2);
            if (own.discrete() || own.intermittent() || onset < 2 * fewest_before)
                continue;
            const Finding found = judge_input(rows, j, 0, std::max<Index>(onset - 8, 0), stop, {onset}, false);
            if ((found.kind == input_moved || found.kind == input_units) && found.confidence > sure &&
                found.gain > best.gain && std::abs(found.onset - onset) <= 8)
                best = found;
        }
        if (!(best.gain > least_gain * often(best.column)))
            return false;
        const Index row = best.onset + start_;
        emit({row, std::max(labels_found_, row), best.kind, best.column, best.before, best.after, best.confidence});
        Channel& own = channel(best.column + 2);
        own.changed = static_cast<double>(row);
        own.pause(static_cast<double>(count_ + patience), mean_of(rows.inputs[best.column], stop - patience, stop));
        return true;
    }

    void judge_own(const Rows& rows, Index stop) {
        const Index raised = alarm_row_ - start_;
        std::vector<Index> given;
        Index from = stop;
        for (const Index row : onsets_)
            if (row - start_ > fewest_before) {
                given.push_back(row - start_);
                from = std::min(from, row - start_ - 8);
            }
        if (alarm_row_ >= 0) {
            const Index onset = split(rows.errors, std::max({Index{0}, raised - reach, changed_ - start_ + 1}), raised);
            given.push_back(onset);
            from = std::min(from, onset - 8);
        }
        from = std::max(from, fewest_before);
        if (given.empty() || from >= stop - 4)
            return;
        Index first = std::max<Index>(changed_ - start_, 0);
        if (from - first < ongoing)
            first = 0;
        Finding found = judge_labels(rows, first, from, stop, given, false);
        const Index row = found.onset + start_;
        if (row >= explained_from_ - 8 && explained_from_ >= 0 && row <= explained_until_) {
            settle(row);
            return;
        }
        if (changed_ > 0 && row < changed_ + block) // the same change
            return;
        if (found.onset - first < fewest_known && alarm_row_ < 0)
            return;
        const double least = labels_clear_ ? clear_gain : alarm_row_ >= 0 ? alarm_gain : least_gain;
        const bool clear = found.kind != kinds && found.gain > least * often(of_label);
        if (!clear && alarm_row_ < 0)
            return;
        if (judge_inputs_at(rows, found.onset, stop)) {
            settle(row);
            return;
        }
        Event event{row, labels_found_, found.kind, found.column, found.before, found.after, found.confidence};
        if (!clear || found.confidence < sure) {
            if (alarm_row_ < 0)
                return;
            event.kind = unknown, event.column = of_label;
            event.confidence = 1 - found.confidence;
            event.before = root_mean_square(rows.errors, std::max<Index>(0, found.onset - most_before), found.onset);
            event.after = root_mean_square(rows.errors, found.onset, stop);
            if (!(event.after > 1.25 * event.before)) // the model had adapted before the alarm's rows were over
                return;
        }
        event.found = std::max(event.found, event.row);
        emit(event);
        settle(row);
    }

    // The first row of larger errors: the most likely one if errors are normal.
    static Index split(const double* errors, Index from, Index raised) {
        double n = 0, squares = 0, all = 0, total = 0;
        for (Index i = from; i <= raised; ++i)
            if (std::isfinite(errors[i]))
                ++all, total += errors[i] * errors[i];
        Index best = raised;
        double most = -HUGE_VAL;
        for (Index i = from; i < raised; ++i) {
            if (!std::isfinite(errors[i]))
                continue;
            ++n, squares += errors[i] * errors[i];
            if (n < 8 || all - n < 2)
                continue;
            const double early = squares / n, late = (total - squares) / (all - n);
            if (!(late > early))
                continue;
            const double gain = -(n * std::log(early) + (all - n) * std::log(late));
            if (gain > most)
                most = gain, best = i + 1;
        }
        return best;
    }
};

} // namespace driftline::events
