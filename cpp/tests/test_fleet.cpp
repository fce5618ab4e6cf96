// Models in slots: a round trip changes nothing, and rows with keys give the results of separate models.
#include "check.hpp"
#include "driftline/fleet/model.hpp"
#include "samples.hpp"

using namespace driftline;
using namespace samples;

namespace {

constexpr Policy forgetting{.time = Time::divide, .amount = 0.95};
constexpr Policy keeping{.time = Time::divide, .amount = 0.95, .keep_prior = true};
constexpr Policy drifting{.time = Time::add, .amount = 0.01, .shrink = true};
constexpr Policy resetting{.reset = Reset::below, .radius = 2};
constexpr Policy refusing{.start = 0.01, .complement = true};
constexpr FirstOrderPolicy multiplying{.space = Space::signed_};

template <class Model> std::vector<std::byte> content(const Model& model) {
    const SlotLayout layout = layout_of(model.state);
    std::vector<std::byte> bytes(static_cast<std::size_t>(layout.size));
    put_in_slot(model.state, layout, bytes.data());
    return bytes;
}

constexpr Index models = 3, rows = 120;

struct Rows {
    std::vector<double> x, y, predictions;
    std::vector<Index> keys;
    std::vector<std::uint8_t> resets;
    KeyedRows keyed;
    explicit Rows(Index features)
        : x(static_cast<std::size_t>(rows * features)), y(rows), predictions(rows), keys(rows), resets(rows) {
        fill(x.data(), rows * features);
        fill(y.data(), rows);
        for (Index& key : keys)
            key = static_cast<Index>(generator()() % models);
        keyed.batch.x = x.data();
        keyed.batch.rows = rows;
        keyed.batch.row_stride = features;
        keyed.batch.column_stride = 1;
        keyed.batch.y = y.data();
        keyed.keys = keys.data();
        keyed.out.predictions = predictions.data();
        keyed.resets = resets.data();
    }
    // The rows of one key, as a separate batch.
    Batch of(Index key, std::vector<double>& some_x, std::vector<double>& some_y) const {
        const Index features = keyed.batch.row_stride;
        for (Index t = 0; t < rows; ++t)
            if (keys[static_cast<std::size_t>(t)] == key) {
                some_x.insert(some_x.end(), x.begin() + t * features, x.begin() + (t + 1) * features);
                some_y.push_back(y[static_cast<std::size_t>(t)]);
            }
        Batch batch = keyed.batch;
        batch.x = some_x.data();
        batch.y = some_y.data();
        batch.rows = static_cast<Index>(some_y.size());
        return batch;
    }
};

template <class T> Status replay_alone(SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
    return engine<T>().replay(m, batch, out);
}
template <class T> Status replay_alone(FirstOrderState<T>& m, const Batch& batch, Outputs& out) {
    return engine<T>().replay_first(m, batch, out);
}

template <class Model> void rows_with_keys_equal_rows_of_separate_models(Index d, auto policy, std::size_t threads) {
    const bool intercept = d > 1;
    FleetModel<Model> fleet(models, d, intercept, policy);
    const std::vector<double> thresholds(200, 0.3);
    if constexpr (requires { fleet.policy().reset; })
        if (policy.reset == Reset::below)
            fleet.extend_thresholds(thresholds.data(), static_cast<Index>(thresholds.size()));
    Rows data(d - intercept);
    std::vector<KeyedDone> done(threads);
    CHECK(fleet.run(data.keyed, done) == Status::done);
    fleet.accept();
    for (Index key = 0; key < models; ++key) {
        auto alone = fleet.new_worker();
        std::vector<double> x, y;
        const Batch batch = data.of(key, x, y);
        std::vector<double> predictions(y.size());
        Outputs out;
        out.predictions = predictions.data();
        CHECK(replay_alone(alone->state, batch, out) == Status::done);
        const std::vector<std::byte> expected = content(*alone);
        CHECK(std::memcmp(fleet.slot(key) + sizeof(SlotHead), expected.data() + sizeof(SlotHead),
                          static_cast<std::size_t>(fleet.layout().sums) + sizeof alone->state.sums - sizeof(SlotHead)) == 0);
        std::size_t at = 0;
        for (std::size_t t = 0; t < rows; ++t)
            if (data.keys[t] == key)
                CHECK(data.predictions[t] == predictions[at++]);
    }
}

template <class T> void a_model_survives_a_round_trip_through_a_slot(Index d, const Policy& policy) {
    SecondOrderModel<T> model(d, false, policy), other(d, false, policy);
    for (int t = 0; t < 20; ++t) {
        fill(model.state.x, d);
        double prediction;
        engine<T>().learn(model.state, normal(), 1, prediction);
    }
    const std::vector<std::byte> bytes = content(model);
    take_from_slot(other.state, layout_of(other.state), bytes.data());
    for (Index j = 0; j < padded<T>(d); ++j)
        CHECK(other.state.w[j] == model.state.w[j]);
    for (Index i = 0; i < model.matrix().size(); ++i)
        CHECK(other.matrix().data()[i] == model.matrix().data()[i]);
    for (Index j = 0; j < d; ++j)
        CHECK(other.diagonal().data()[j] == model.diagonal().data()[j]);
    CHECK(std::memcmp(&other.state.sums, &model.state.sums, sizeof(Sums)) == 0);
}

template <class T> void an_undone_call_leaves_no_trace() {
    FleetModel<SecondOrderModel<T>> fleet(models, 4, true, refusing);
    Rows data(3);
    std::vector<KeyedDone> done(2);
    for (double& value : data.x)
        value *= 0.5;
    CHECK(fleet.run(data.keyed, done) == Status::done);
    fleet.accept();
    std::vector<std::byte> before(fleet.slot(0), fleet.slot(models));
    data.x[3 * (rows - 1)] = 1e6;
    done = std::vector<KeyedDone>(2);
    CHECK(fleet.run(data.keyed, done) == Status::outside_noise);
    CHECK(std::memcmp(before.data(), fleet.slot(0), before.size()) != 0);
    CHECK(fleet.undo());
    CHECK(std::memcmp(before.data(), fleet.slot(0), before.size()) == 0);
    CHECK(!fleet.undo()); // no call is in progress
}

// Undoing a call that was accepted, or that cannot fail, changes nothing.
template <class T> void accepted_calls_cannot_be_undone() {
    for (const Policy& policy : {refusing, forgetting}) {
        FleetModel<SecondOrderModel<T>> fleet(models, 4, true, policy);
        Rows data(3);
        for (double& value : data.x)
            value *= 0.5;
        std::vector<KeyedDone> done(1);
        CHECK(fleet.run(data.keyed, done) == Status::done);
        if (policy.complement)
            fleet.accept();
        const std::vector<std::byte> before(fleet.slot(0), fleet.slot(models));
        CHECK(!fleet.undo());
        CHECK(std::memcmp(before.data(), fleet.slot(0), before.size()) == 0);
    }
}

template <class T> void a_growing_fleet_keeps_what_it_learned() {
    FleetModel<SecondOrderModel<T>> fleet(models, 4, true, refusing), other(models, 4, true, refusing);
    Rows data(3);
    for (double& value : data.x)
        value *= 0.5;
    for (const Index size : {models, models + 1, Index(20), Index(200'000)}) {
        fleet.reserve(size);
        CHECK(fleet.size() >= size);
        for (auto* each : {&fleet, &other}) {
            std::vector<KeyedDone> done(2);
            CHECK(each->run(data.keyed, done) == Status::done);
            each->accept();
            KeyedRows asked = data.keyed; // leaves its own journals
            asked.batch.y = nullptr;
            done = std::vector<KeyedDone>(2);
            CHECK(each->run(asked, done) == Status::done);
        }
    }
    CHECK(std::memcmp(other.slot(0), fleet.slot(0), static_cast<std::size_t>(models * fleet.layout().size)) == 0);
    CHECK(fleet.head(fleet.size() - 1).call == 0);
}

// The complete contents of a slot.
template <class Model> std::vector<std::byte> kept(FleetModel<Model>& fleet, Index slot) {
    std::vector<std::byte> bytes(fleet.slot(slot) + sizeof(SlotHead), fleet.slot(slot + 1));
    const auto add = [&](const auto& part) {
        const auto* const from = reinterpret_cast<const std::byte*>(&part);
        bytes.insert(bytes.end(), from, from + sizeof part);
    };
    add(*fleet.tracker(slot));
    add(*fleet.watch(slot));
    return bytes;
}

constexpr double limit = 9;

// A call with intervals; it learns if the rows have labels.
template <class Model> Status run_with_intervals(FleetModel<Model>& fleet, Rows& data, std::size_t threads) {
    std::vector<double> lower(rows), upper(rows);
    KeyedRows keyed = data.keyed;
    keyed.out.lower = lower.data();
    keyed.out.upper = upper.data();
    keyed.out.level.at = 4;
    std::vector<KeyedDone> done(threads);
    return fleet.run(keyed, done);
}

template <class T> void stored_intervals_and_alarms_are_undone_and_move_with_their_model() {
    FleetModel<SecondOrderModel<T>> fleet(models, 4, true, refusing, {true, limit});
    Rows data(3);
    for (double& value : data.x)
        value *= 0.5;
    CHECK(run_with_intervals(fleet, data, 2) == Status::done);
    fleet.accept();
    Index seen = 0;
    for (Index slot = 0; slot < models; ++slot) {
        Watch expected = new_watch(limit);
        for (std::size_t t = 0; t < rows; ++t)
            if (data.keys[t] == slot)
                expected.see(1, [&](Index) { return data.y[t] - data.predictions[t]; }, [](Index) {});
        CHECK(std::memcmp(fleet.watch(slot), &expected, sizeof expected) == 0);
        CHECK(fleet.tracker(slot)->judged > 0 && fleet.tracker(slot)->inside <= fleet.tracker(slot)->judged);
        seen += fleet.watch(slot)->alarm.count;
    }
    CHECK(seen == rows);
    std::vector<std::vector<std::byte>> before;
    for (Index slot = 0; slot < models; ++slot)
        before.push_back(kept(fleet, slot));
    data.x[3 * (rows - 1)] = 1e6;
    CHECK(run_with_intervals(fleet, data, 2) == Status::outside_noise);
    CHECK(fleet.undo());
    for (std::size_t slot = 0; slot < models; ++slot)
        CHECK(kept(fleet, static_cast<Index>(slot)) == before[slot]);
    fleet.remove({0}, models);
    for (std::size_t slot = 1; slot < models; ++slot)
        CHECK(kept(fleet, static_cast<Index>(slot) - 1) == before[slot]);
    CHECK(fleet.head(models - 1).call == 0 && fleet.watch(models - 1)->alarm.count == 0);
    fleet.clear({1});
    CHECK(kept(fleet, 0) == before[1]);
    CHECK(fleet.head(1).call == 0 && fleet.watch(1)->alarm.count == 0 && fleet.tracker(1)->judged == 0);
}

// If the fleet does not keep intervals, a call stores nothing for them.
template <class T> void intervals_of_a_single_call_take_no_memory_afterwards() {
    FleetModel<FirstOrderModel<T>> fleet(models, 4, true, FirstOrderPolicy{}), other(models, 4, true, FirstOrderPolicy{});
    Rows data(3);
    for (int call = 0; call < 2; ++call) {
        CHECK(run_with_intervals(fleet, data, 1) == Status::done);
        fleet.accept();
        std::vector<KeyedDone> done(1);
        CHECK(other.run(data.keyed, done) == Status::done);
        other.accept();
        CHECK(fleet.bytes_each() == fleet.layout().size);
        CHECK(std::memcmp(other.slot(0), fleet.slot(0), static_cast<std::size_t>(models * fleet.layout().size)) == 0);
    }
}

void errors_are_sorted_by_slot_and_keep_their_order() {
    std::vector<KeyedError> errors;
    for (std::uint32_t row = 0; row < 5000; ++row)
        errors.push_back({static_cast<std::uint32_t>(generator()() % (row % 2 ? 300 : 3'000'000'000)), row, 0.5 * row});
    std::vector<KeyedError> spare(errors.size());
    if (sort_by_slot(errors.data(), spare.data(), errors.size()) == spare.data())
        errors.swap(spare);
    for (std::size_t i = 1; i < errors.size(); ++i)
        CHECK(errors[i - 1].slot < errors[i].slot ||
              (errors[i - 1].slot == errors[i].slot && errors[i - 1].row < errors[i].row));
    for (const KeyedError& error : errors)
        CHECK(error.error == 0.5 * error.row);
}

// For any pattern of keys, no thread has much more than its share of them.
void threads_have_equal_shares() {
    for (const Index stride : {1, 2, 3, 4, 8, 10, 100, 1024, 4096, 65536})
        for (const std::uint32_t parts : {2u, 3u, 4u, 8u}) {
            std::vector<Index> shares(parts);
            for (Index key = 0; key < 10'000; ++key)
                ++shares[part_of(key * stride, parts)];
            for (const Index share : shares)
                CHECK(share * parts > 9'000 && share * parts < 11'000);
        }
}

template <class T> void test_type() {
    for (const Index d : sizes())
        for (const Policy& policy : {forgetting, drifting})
            a_model_survives_a_round_trip_through_a_slot<T>(d, policy);
    for (const Index d : {1, 2, 4, 5, 8, 9, 16, 17, 33, 40})
        for (const std::size_t threads : {1, 2}) {
            for (const Policy& policy : {forgetting, keeping, drifting, resetting})
                rows_with_keys_equal_rows_of_separate_models<SecondOrderModel<T>>(d, policy, threads);
            for (const FirstOrderPolicy& policy : {FirstOrderPolicy{}, multiplying})
                rows_with_keys_equal_rows_of_separate_models<FirstOrderModel<T>>(d, policy, threads);
        }
    an_undone_call_leaves_no_trace<T>();
    accepted_calls_cannot_be_undone<T>();
    a_growing_fleet_keeps_what_it_learned<T>();
    stored_intervals_and_alarms_are_undone_and_move_with_their_model<T>();
    intervals_of_a_single_call_take_no_memory_afterwards<T>();
}

} // namespace

int main() {
    test_type<double>();
    test_type<float>();
    threads_have_equal_shares();
    errors_are_sorted_by_slot_and_keep_their_order();
    return checks::result();
}
