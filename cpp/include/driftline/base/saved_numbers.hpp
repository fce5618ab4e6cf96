// The numbers of a model as arrays, and back, through its `visit`. Numbers that came after the first format of files have a
// name of their own:
//
//     act(&rows, 1); act(&spread, 1, "spread");
//
// Each name is an array, with the numbers of all parts of the model that have it. A state without the array leaves these
// numbers as they are: those of a new model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "driftline/base/simd.hpp"

namespace driftline {

// The array that holds the numbers of a type that have no name.
inline const char* array_of(const double*) { return "numbers"; }
inline const char* array_of(const float*) { return "entries"; }
inline const char* array_of(const std::uint16_t*) { return "halves"; }

// What there is of each array, by name; the first of each type is found without a search.
template <template <class> class Item> class ByArray {
  public:
    template <class T> Item<T>& of(const char* added) {
        auto& [first, all] = std::get<Known<T>>(known_);
        if (!added && first)
            return *first;
        Item<T>& found = all[added ? added : array_of(static_cast<const T*>(nullptr))];
        if (!added)
            first = &found;
        return found;
    }
    template <class Act> void each(Act&& act) const {
        std::apply([&](const auto&... known) { (each_of(known, act), ...); }, known_);
    }

  private:
    template <class T> struct Known {
        Item<T>* first = nullptr;
        std::map<std::string, Item<T>> all;
    };
    template <class T, class Act> static void each_of(const Known<T>& known, Act& act) {
        for (const auto& [name, item] : known.all)
            act(name, item);
    }
    std::tuple<Known<double>, Known<float>, Known<std::uint16_t>> known_;
};

template <class T> using NumbersOfArray = std::vector<T>;

class NumbersOut {
  public:
    template <class T> void operator()(const T* from, Index n, const char* added = nullptr) {
        auto& to = arrays.of<T>(added);
        to.insert(to.end(), from, from + n);
    }
    ByArray<NumbersOfArray> arrays;
};

template <class T> struct PlaceInArray {
    std::optional<std::span<const T>> array;
    Index at = 0;
    bool sought = false;
};

// `find(name, array)` sets an array that the state has. A model whose numbers were read must be discarded unless they are
// `complete` in the end.
template <class Find> class NumbersIn {
  public:
    explicit NumbersIn(Find find) : find_(std::move(find)) {}
    template <class T> void operator()(T* to, Index n, const char* added = nullptr) {
        PlaceInArray<T>& from = places_.template of<T>(added);
        if (!from.sought) {
            find_(added ? added : array_of(to), from.array);
            from.sought = true;
        }
        if (!from.array && added)
            return;
        const std::span<const T> numbers = from.array.value_or(std::span<const T>());
        if (n <= static_cast<Index>(numbers.size()) - from.at)
            std::copy_n(numbers.data() + from.at, n, to);
        from.at += n;
    }
    // Whether each array has as many numbers as the model.
    bool complete() const {
        bool all = true;
        places_.each([&](const std::string&, const auto& from) {
            all = all && from.at == (from.array ? static_cast<Index>(from.array->size()) : 0);
        });
        return all;
    }

  private:
    Find find_;
    ByArray<PlaceInArray> places_;
};

} // namespace driftline
