// The statistics of keys, in arrays that Python keeps.
#include "driftline/fleet/key_statistics.hpp"

#include "batch.hpp"

namespace driftline::bindings {

namespace {

using Slots = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OutVector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutSlots = nb::ndarray<Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

KeyStatistics* keys_in(OutTable keys, OutVector shared, Slots slots) {
    require(keys.shape(1) == key_numbers && shared.shape(0) == shared_numbers);
    for (std::size_t t = 0; t < slots.shape(0); ++t)
        if (slots.data()[t] < 0 || slots.data()[t] >= static_cast<Index>(keys.shape(0)))
            throw nb::index_error("a key is out of range");
    return reinterpret_cast<KeyStatistics*>(keys.data());
}

void describe_keys(OutTable keys, OutVector shared, Slots slots, std::optional<Vector> y, OutTable features, OutSlots bands,
                   bool frozen) {
    KeyStatistics* const table = keys_in(keys, shared, slots);
    auto& all = *reinterpret_cast<SharedStatistics*>(shared.data());
    const std::size_t rows = slots.shape(0);
    require(features.shape(0) == rows && features.shape(1) == described_numbers && bands.shape(0) == rows);
    require(!y || y->shape(0) == rows);
    for (std::size_t t = 0; t < rows; ++t) {
        KeyStatistics& key = table[slots.data()[t]];
        describe(key, all, features.data() + t * described_numbers);
        bands.data()[t] = band_of(key);
        SharedStatistics apart = all;
        if (y && std::isfinite(y->data()[t]))
            learn(key, frozen ? apart : all, y->data()[t]);
    }
}

void scale_keys(OutTable keys, OutVector shared, Slots slots, std::optional<Vector> of_pool, std::optional<Vector> of_own,
                OutTable scales, bool frozen) {
    KeyStatistics* const table = keys_in(keys, shared, slots);
    auto& all = *reinterpret_cast<SharedStatistics*>(shared.data());
    const std::size_t rows = slots.shape(0);
    require(scales.shape(0) == rows && scales.shape(1) == scaled_numbers && of_pool.has_value() == of_own.has_value());
    require(!of_pool || (of_pool->shape(0) == rows && of_own->shape(0) == rows));
    for (std::size_t t = 0; t < rows; ++t) {
        KeyStatistics& key = table[slots.data()[t]];
        scale(key, all, scales.data() + t * scaled_numbers);
        SharedStatistics apart = all;
        if (of_pool && std::isfinite(of_pool->data()[t]) && std::isfinite(of_own->data()[t]))
            learn_errors(key, frozen ? apart : all, of_pool->data()[t], of_own->data()[t]);
    }
}

void watch_keys(OutTable keys, OutVector shared, OutVector common, Slots slots, Vector errors, Vector sizes, OutVector left,
                OutVector blocks) {
    KeyStatistics* const table = keys_in(keys, shared, slots);
    const std::size_t rows = slots.shape(0);
    require(common.shape(0) == common_numbers && errors.shape(0) == rows && sizes.shape(0) == rows);
    require(left.shape(0) == rows && blocks.shape(0) == rows);
    auto& state = *reinterpret_cast<CommonErrors*>(common.data());
    require(state.next >= 0 && state.next < common_recent);
    for (std::size_t t = 0; t < rows; ++t)
        left.data()[t] = watch(state, table[slots.data()[t]], errors.data()[t], sizes.data()[t], blocks.data()[t]);
}

} // namespace

void bind_key_statistics(nb::module_& m) {
    using nb::arg;
    m.attr("key_numbers") = key_numbers;
    m.attr("shared_numbers") = shared_numbers;
    m.attr("described_numbers") = described_numbers;
    m.attr("common_numbers") = common_numbers;
    m.attr("common_recent") = common_recent;
    m.attr("scaled_numbers") = scaled_numbers;
    m.attr("age_bands") = static_cast<Index>(oldest_band + 1);
    m.def("describe_keys", &describe_keys, arg("keys").noconvert(), arg("shared").noconvert(), arg("slots"), arg("y").none(),
          arg("features").noconvert(), arg("bands").noconvert(), arg("frozen") = false,
          "Writes the features of each row's key, the level of all keys and the age of the key, then learns its label, if "
          "it is finite; what is known of all keys stays as it is if it is frozen.");
    m.def("scale_keys", &scale_keys, arg("keys").noconvert(), arg("shared").noconvert(), arg("slots"), arg("of_pool").none(),
          arg("of_own").none(), arg("scales").noconvert(), arg("frozen") = false,
          "Writes the sizes of errors and the edge of the own model for each row's key, then learns the errors of both "
          "models.");
    m.def("watch_keys", &watch_keys, arg("keys").noconvert(), arg("shared").noconvert(), arg("common").noconvert(),
          arg("slots"), arg("errors"), arg("sizes"), arg("left").noconvert(), arg("blocks").noconvert(),
          "Writes each error without what the latest errors of other keys have in common, and after each block of errors "
          "their clipped mean, otherwise NaN.");
}

} // namespace driftline::bindings
