// The functions that are compiled for each instruction set, and the choice among them.
#pragma once

#include "driftline/linear/random_matrix.hpp"
#include "driftline/fleet/slots.hpp"

namespace driftline {

// Loops of the mixer over its predictions; see mixing.hpp.
struct MixingEngine {
    void (*discount)(double* losses, const double* squares, Index count, double rows, double before, double now, double keep,
                     double weight);
    void (*weigh)(const double* losses, const double* prior, double rows, double* weights, Index count);
};

// Loops of growing trees; see splits.hpp.
struct Edges;
struct TreeSample;
struct TreeSplit;
struct TreesEngine {
    TreeSplit (*best_split)(const TreeSample&, const std::uint16_t* row, const std::uint16_t* end);
    void (*find_leaves)(const std::uint8_t* const* bins, const std::int8_t* edge, Index rows, std::uint8_t* to);
    void (*find_bins)(const Edges* edges, const float* row, Index columns, std::uint8_t* to);
};

// What a late label does to the intervals; see late_coverage.hpp.
struct CoverageEngine {
    void (*judge)(Coverage&, double error, const IntervalBasis&);
};

template <class T> struct Engine {
    Status (*learn)(SecondOrderState<T>&, double y, double weight, double& prediction);
    Status (*predict)(SecondOrderState<T>&, double& prediction, double* s); // s may be null
    Status (*replay)(SecondOrderState<T>&, const Batch&, Outputs&);
    void (*raise_prior)(SecondOrderState<T>&, double keep, T* w, Index outputs);
    Status (*learn_first)(FirstOrderState<T>&, double y, double weight, double& prediction);
    Status (*descend)(FirstOrderState<T>&, double slope);
    double (*score)(FirstOrderState<T>&);
    Status (*replay_first)(FirstOrderState<T>&, const Batch&, Outputs&);
    Status (*replay_slots)(SecondOrderState<T>&, const Slots&, const KeyedRows&, KeyedDone&);
    Status (*replay_slots_first)(FirstOrderState<T>&, const Slots&, const KeyedRows&, KeyedDone&);
    void (*column)(const RandomMatrix&, Index j, T* column);
    void (*project)(const RandomMatrix&, ColumnCache<T>&, const Entries<T>&, T* psi);
    double (*transposed)(const RandomMatrix&, ColumnCache<T>&, const T* v, Index j);
};

// The fastest that this machine can run, or the baseline if DRIFTLINE_ISA in the environment is "baseline".
const char* instruction_set();
template <class T> const Engine<T>& engine();
const MixingEngine& mixing_engine();
const TreesEngine& trees_engine();
const CoverageEngine& coverage_engine();

} // namespace driftline
