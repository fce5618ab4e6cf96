// Compiled once for each instruction set; DRIFTLINE_ISA is its name.
#include "driftline/engine.hpp"
#include "driftline/fleet/fleet.hpp"
#include "driftline/kernels/rotation.hpp"
#include "driftline/kernels/values.hpp"
#include "driftline/ensembles/mixing.hpp"
#include "driftline/ensembles/splits.hpp"
#include "driftline/linear/replay.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

template <class T> constexpr Engine<T> make_engine() {
    return {
        [](SecondOrderState<T>& m, double y, double weight, double& prediction) {
            Batch batch;
            batch.rows = 1;
            batch.y = &y;
            batch.weight = &weight;
            Outputs out;
            out.predictions = &prediction;
            return with_size(m, [&]<int G>() { return replay<G>(m, batch, out, true); });
        },
        [](SecondOrderState<T>& m, double& prediction, double* s) { return predict_row(m, prediction, s); },
        &replay_any<T>,
        &raise_prior<T>,
        [](FirstOrderState<T>& m, double y, double weight, double& prediction) {
            double norm2;
            prediction = score(m, norm2);
            return learn_row(m, norm2, y, weight, prediction);
        },
        [](FirstOrderState<T>& m, double slope) { return descend(m, dot(m.x, m.x, padded<T>(m.d)), slope, 1.0); },
        [](FirstOrderState<T>& m) {
            double norm2;
            return score(m, norm2);
        },
        [](FirstOrderState<T>& m, const Batch& batch, Outputs& out) { return replay(m, batch, out); },
        &replay_slots<SecondOrderState<T>>,
        &replay_slots<FirstOrderState<T>>,
        [](const RandomMatrix& m, Index j, T* column) { matrix_column(m, j, column); },
        [](const RandomMatrix& m, ColumnCache<T>& cache, const Entries<T>& x, T* psi) { project(m, cache, x, psi); },
        [](const RandomMatrix& m, ColumnCache<T>& cache, const T* v, Index j) { return transposed(m, cache, v, j); },
    };
}

extern const Engine<double> engine_double;
extern const Engine<float> engine_float;
constinit const Engine<double> engine_double = make_engine<double>();
constinit const Engine<float> engine_float = make_engine<float>();

extern const MixingEngine engine_mixing;
constinit const MixingEngine engine_mixing = {&discount_losses, &weigh};

extern const TreesEngine engine_trees;
constinit const TreesEngine engine_trees = {&best_split, &find_leaves, &find_bins};

extern const CoverageEngine engine_coverage;
constinit const CoverageEngine engine_coverage = {&judge};

extern const KernelEngine engine_kernel;
constinit const KernelEngine engine_kernel = {&similarities, &self_similarity, &solve_lower, &solve_lower_transposed,
                                              &drop_coordinate};

} // namespace DRIFTLINE_ISA
} // namespace driftline
