// Rows in blocks, on one thread and on two, give the results of single rows: the same bits, or up to rounding if the order
// of sums differs.
#include "driftline/linear/factor_blocks.hpp"

#include "check.hpp"
#include "driftline/linear/second_order_model.hpp"
#include "samples.hpp"

#include <cstring>

using namespace driftline;

namespace {

// A stream, and how it is learned.
struct Trial {
    Index d, rows;
    Policy policy;
    bool intercept = false, weighted = false, gaps = false, silent = false, wild = false;
    bool scheduled = false;
    double threshold = 0; // for resets; 0 means none
};

template <class T> struct Stream {
    std::vector<T> x;
    std::vector<double> y, weight;
    Index features;
    explicit Stream(const Trial& trial)
        : x(static_cast<std::size_t>(trial.rows * trial.d)), y(static_cast<std::size_t>(trial.rows)),
          weight(static_cast<std::size_t>(trial.rows)), features(trial.d - trial.intercept) {
        samples::fill(x.data(), trial.rows * trial.d);
        samples::fill(y.data(), trial.rows);
        for (std::size_t t = 0; t < y.size(); ++t) {
            weight[t] = t % 7 == 3 ? 0 : 0.5 + static_cast<double>(t % 5);
            if (trial.gaps && t % 11 == 5)
                y[t] = NAN;
            if (trial.gaps && t % 13 == 6)
                x[t * static_cast<std::size_t>(trial.d)] = static_cast<T>(NAN);
            if (trial.silent) // features that are always zero, and constant features
                for (Index j = 0; j + 2 < features; j += 3) {
                    x[t * static_cast<std::size_t>(trial.d) + static_cast<std::size_t>(j)] = 0;
                    x[t * static_cast<std::size_t>(trial.d) + static_cast<std::size_t>(j + 1)] = 3;
                }
            if (trial.wild && t % 19 == 7)
                for (Index j = 0; j < features; ++j)
                    x[t * static_cast<std::size_t>(trial.d) + static_cast<std::size_t>(j)] *=
                        static_cast<T>(sizeof(T) == 8 ? 1e140 : 1e14);
        }
    }
    Batch batch(const Trial& trial) const {
        Batch out;
        out.x = x.data();
        out.floats = sizeof(T) == 4;
        out.rows = trial.rows;
        out.row_stride = trial.d;
        out.column_stride = 1;
        out.y = y.data();
        out.weight = trial.weighted ? weight.data() : nullptr;
        out.skip = true;
        return out;
    }
};

// All state that a replay changes.
template <class T> struct Outcome {
    std::vector<double> predictions, lower, upper, snapshots, factors;
    std::vector<unsigned char> resets;
    SecondOrderModel<T> model;
    Outputs out;

    explicit Outcome(const Trial& trial)
        : predictions(static_cast<std::size_t>(trial.rows)), lower(predictions.size()), upper(predictions.size()),
          snapshots(static_cast<std::size_t>(trial.rows / 3 * trial.d)), resets(predictions.size()),
          model(trial.d, trial.intercept, trial.policy) {
        if (trial.scheduled) {
            for (Index t = 0; t < trial.rows; ++t)
                factors.push_back(1 - 0.2 / static_cast<double>(1 + t % 9));
            model.set_forgetting(factors, 1);
        }
        if (trial.threshold > 0)
            model.set_thresholds(std::vector<double>(200, trial.threshold), 1);
        out.predictions = predictions.data();
        out.lower = lower.data();
        out.upper = upper.data();
        out.level = {.at = level_count / 2, .share = 0.5, .factor = 1, .enough = 20};
        out.weights = snapshots.data();
        out.every = 3;
        out.resets = resets.data();
    }
};

template <class V> bool same(const V& a, const V& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}
template <class T> bool same(const T* a, const T* b, Index n) {
    return std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(T)) == 0;
}

template <class T> void rows_in_blocks_equal_single_rows(const Trial& trial) {
    CHECK(FactorBlocks<T>::suits(SecondOrderModel<T>(trial.d, false, trial.policy).state));
    const Stream<T> stream(trial);
    const Batch batch = stream.batch(trial);
    Outcome<T> singly(trial);
    CHECK(replay<0>(singly.model.state, batch, singly.out, false) == Status::done);
    for (const bool two_threads : {false, true}) {
        Outcome<T> blocks(trial);
        Batch begun = batch;
        begun.rows = trial.rows / 3; // the run is split in two
        CHECK(FactorBlocks<T>(blocks.model.state, begun, blocks.out, two_threads).run() == Status::done);
        CHECK(blocks.out.done == begun.rows);
        FactorBlocks<T> replay(blocks.model.state, batch, blocks.out, two_threads);
        CHECK(replay.run() == Status::done);
        const bool broken = trial.gaps || trial.weighted, guarded = trial.threshold > 0;
        const bool unsure = trial.silent || trial.wild || trial.policy.period == 1 || (guarded && broken);
        const Index rest = trial.rows - begun.rows, enough = broken ? 0 : guarded ? rest / 20 : rest / 2;
        CHECK(unsure || replay.in_blocks() > enough);
        const SecondOrderState<T>&a = singly.model.state, &b = blocks.model.state;
        CHECK(blocks.out.done == trial.rows && blocks.out.skipped == singly.out.skipped);
        CHECK(same(singly.predictions, blocks.predictions));
        CHECK(same(singly.lower, blocks.lower) && same(singly.upper, blocks.upper));
        CHECK(same(singly.snapshots, blocks.snapshots));
        CHECK(same(singly.resets, blocks.resets));
        CHECK(same(a.w, b.w, trial.d));
        CHECK(same(a.factor.d, b.factor.d, trial.d));
        for (Index j = 0; j < trial.d; ++j)
            CHECK(same(a.factor.u + panel_index<T>(0, j), b.factor.u + panel_index<T>(0, j), j + 1));
        CHECK(std::memcmp(&a.sums, &b.sums, sizeof a.sums) == 0);
    }
}

Policy ridge(double noise = 1) {
    Policy policy;
    policy.start = 0.5;
    policy.noise = noise;
    return policy;
}
Policy forgetting(double factor) {
    Policy policy = ridge();
    policy.time = Time::divide;
    policy.amount = factor;
    return policy;
}
Policy shrinking() {
    Policy policy = ridge();
    policy.shrink = true;
    policy.predictions = {-0.8, 0.8};
    return policy;
}
Policy resetting(Index period) {
    Policy policy = forgetting(0.98);
    policy.start = 1;
    policy.reset = Reset::every;
    policy.period = period;
    return policy;
}

Policy guarded(double noise) {
    Policy policy = ridge(noise);
    policy.start = 1;
    policy.reset = Reset::below;
    return policy;
}

template <class T> void all_of_one_type() {
    for (const Index d : {1, 4, 5, 8, 21, 50, 67}) {
        rows_in_blocks_equal_single_rows<T>({d, 100, ridge()});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 97, .policy = ridge(3), .weighted = true});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 100, .policy = forgetting(0.9), .gaps = true});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 400, .policy = forgetting(0.97), .silent = true});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 150, .policy = forgetting(0.99), .wild = true});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 100, .policy = forgetting(0.99), .scheduled = true});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 60, .policy = shrinking()});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 110, .policy = resetting(23)});
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 50, .policy = resetting(1)});
        const double size = 8.0 * static_cast<double>(d);
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 200, .policy = guarded(size / 2), .threshold = 0.4});
        rows_in_blocks_equal_single_rows<T>(
            {.d = d, .rows = 100, .policy = guarded(size / 20), .weighted = true, .threshold = 0.04});
        if (d > 1)
            rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 50, .policy = forgetting(0.95), .intercept = true});
    }
}

// With too much forgetting for a block, processing falls back to single rows, and later returns to blocks.
template <class T> void rows_that_grow_too_fast_for_a_block_are_processed_singly() {
    for (const Index d : {6, 40})
        rows_in_blocks_equal_single_rows<T>({.d = d, .rows = 1500, .policy = forgetting(0.8), .gaps = true, .silent = true});
}

} // namespace

int main() {
    all_of_one_type<double>();
    all_of_one_type<float>();
    rows_that_grow_too_fast_for_a_block_are_processed_singly<double>();
    rows_that_grow_too_fast_for_a_block_are_processed_singly<float>();
    return checks::result();
}
