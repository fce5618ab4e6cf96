// Which instruction set runs here.
#include <cstdlib>
#include <cstring>

#include "driftline/engine.hpp"
#include "driftline/kernels/engine.hpp"

namespace driftline {

namespace baseline {
extern const Engine<double> engine_double;
extern const Engine<float> engine_float;
extern const MixingEngine engine_mixing;
extern const TreesEngine engine_trees;
extern const CoverageEngine engine_coverage;
extern const KernelEngine engine_kernel;
} // namespace baseline
#ifdef DRIFTLINE_HAS_AVX2
namespace avx2 {
extern const Engine<double> engine_double;
extern const Engine<float> engine_float;
extern const MixingEngine engine_mixing;
extern const TreesEngine engine_trees;
extern const CoverageEngine engine_coverage;
extern const KernelEngine engine_kernel;
} // namespace avx2
#endif

namespace {
bool use_avx2() {
#ifdef DRIFTLINE_HAS_AVX2
    const char* wish = std::getenv("DRIFTLINE_ISA");
    const bool refused = wish && std::strcmp(wish, "baseline") == 0;
    return !refused && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}
const bool avx2_chosen = use_avx2();
} // namespace

const char* instruction_set() { return avx2_chosen ? "avx2" : "baseline"; }

#ifdef DRIFTLINE_HAS_AVX2
#define DRIFTLINE_CHOSEN(table) (avx2_chosen ? avx2::table : baseline::table)
#else
#define DRIFTLINE_CHOSEN(table) baseline::table
#endif
template <> const Engine<double>& engine<double>() { return DRIFTLINE_CHOSEN(engine_double); }
template <> const Engine<float>& engine<float>() { return DRIFTLINE_CHOSEN(engine_float); }
const MixingEngine& mixing_engine() { return DRIFTLINE_CHOSEN(engine_mixing); }
const TreesEngine& trees_engine() { return DRIFTLINE_CHOSEN(engine_trees); }
const CoverageEngine& coverage_engine() { return DRIFTLINE_CHOSEN(engine_coverage); }
const KernelEngine& kernel_engine() { return DRIFTLINE_CHOSEN(engine_kernel); }

} // namespace driftline
