// Numbers of a state that were added after the first format.
#include "check.hpp"
#include "driftline/base/saved_numbers.hpp"

using namespace driftline;

namespace {

struct Part {
    double rows = 0;
    float size = 0;
    double spread = 7; // added later
    template <class Act> void visit(Act&& act) {
        act(&spread, 1, "spread");
        act(&rows, 1);
        act(&size, 1);
    }
};
struct Model {
    Part one, other;
    template <class Act> void visit(Act&& act) {
        one.visit(act);
        other.visit(act);
    }
};

using Arrays = std::map<std::string, std::vector<double>>;

bool read(const Arrays& arrays, Model& model) {
    std::vector<std::vector<float>> narrow;
    NumbersIn in([&]<class T>(const char* name, std::optional<std::span<const T>>& array) {
        const auto found = arrays.find(name);
        if (found == arrays.end())
            return;
        if constexpr (std::is_same_v<T, double>)
            array = found->second;
        if constexpr (std::is_same_v<T, float>)
            array = narrow.emplace_back(found->second.begin(), found->second.end());
    });
    model.visit(in);
    return in.complete();
}

void added_numbers_are_arrays_of_their_own() {
    Model model{{1, 2, 3}, {4, 5, 6}};
    NumbersOut out;
    model.visit(out);
    Arrays arrays;
    out.arrays.each(
        [&](const std::string& name, const auto& numbers) { arrays[name].assign(numbers.begin(), numbers.end()); });
    CHECK((arrays == Arrays{{"numbers", {1, 4}}, {"entries", {2, 5}}, {"spread", {3, 6}}}));
    Model again;
    CHECK(read(arrays, again) && again.one.spread == 3 && again.other.spread == 6 && again.other.size == 5);
}

void numbers_that_a_state_lacks_are_those_of_a_new_model() {
    Model model;
    CHECK(read({{"numbers", {1, 4}}, {"entries", {2, 5}}}, model));
    CHECK(model.one.spread == 7 && model.other.spread == 7 && model.other.rows == 4 && model.one.size == 2);
}

void arrays_of_another_length_are_refused() {
    Model model;
    const std::vector<double> two{1, 2};
    CHECK(!read({{"entries", two}}, model)); // the numbers of the first format are always there
    CHECK(!read({{"numbers", {1}}, {"entries", two}}, model));
    CHECK(!read({{"numbers", {1, 2, 3}}, {"entries", two}}, model));
    CHECK(!read({{"numbers", two}, {"entries", two}, {"spread", {1}}}, model));
}

} // namespace

int main() {
    added_numbers_are_arrays_of_their_own();
    numbers_that_a_state_lacks_are_those_of_a_new_model();
    arrays_of_another_length_are_refused();
    return checks::result();
}
