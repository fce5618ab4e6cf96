// Compiled once for each instruction set; DRIFTLINE_ISA is its name.
#include "driftline/engine.hpp"
#include "driftline/second_order.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

template <class T> constexpr Engine<T> make_engine() {
    return {
        [](SecondOrderState<T>& m, double y, double weight, double& prediction) {
            m.ready = false;
            return with_size(m, [&]<int P>() { return learn_row<P, T>(m, y, weight, nullptr, prediction); });
        },
        [](SecondOrderState<T>& m, double& prediction) {
            m.ready = false;
            return predict_row(m, prediction);
        },
        [](SecondOrderState<T>& m, const Batch& batch, Outputs& out) {
            return with_size(m, [&]<int P>() { return replay<P>(m, batch, out); });
        },
        [](FirstOrderState<T>& m, double y, double weight, double& prediction) {
            return learn_row(m, y, weight, prediction);
        },
        [](FirstOrderState<T>& m, double slope) { return descend(m, slope, 1.0); },
        [](FirstOrderState<T>& m) { return score(m); },
        [](FirstOrderState<T>& m, const Batch& batch, Outputs& out) { return replay(m, batch, out); },
    };
}

extern const Engine<double> engine_double;
extern const Engine<float> engine_float;
constinit const Engine<double> engine_double = make_engine<double>();
constinit const Engine<float> engine_float = make_engine<float>();

} // namespace DRIFTLINE_ISA
} // namespace driftline
