// Steps and replays allocate nothing.
#include <cstdlib>
#include <new>

#include "check.hpp"
#include "driftline/linear/first_order_model.hpp"
#include "driftline/linear/projected_model.hpp"
#include "steps.hpp"

using namespace driftline;
using namespace samples;

namespace {
bool counting = false;
Index allocations = 0;
void count_allocation() { allocations += counting; }
} // namespace

// Counts every allocation: the linker redirects the C functions here (see CMakeLists.txt), and operator new is replaced.
extern "C" {
void* __real_malloc(std::size_t);
void* __real_calloc(std::size_t, std::size_t);
void* __real_realloc(void*, std::size_t);
void* __real_aligned_alloc(std::size_t, std::size_t);
void* __wrap_malloc(std::size_t n) { return count_allocation(), __real_malloc(n); }
void* __wrap_calloc(std::size_t n, std::size_t size) { return count_allocation(), __real_calloc(n, size); }
void* __wrap_realloc(void* p, std::size_t n) { return count_allocation(), __real_realloc(p, n); }
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t n) {
    return count_allocation(), __real_aligned_alloc(alignment, n);
}
}
void* operator new(std::size_t n) {
    count_allocation();
    if (void* p = std::malloc(n ? n : 1))
        return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

template <class T> void steps_allocate_nothing(Index d, const Policy& policy) {
    Stream stream(300, d - 1);
    auto model = make_model<T>(d, true, policy);
    for (const Index t : {50, 51, 120})
        for (Index j = 0; j < d - 1 && !policy.complement; ++j)
            stream.x[static_cast<std::size_t>(t * (d - 1) + j)] *= sizeof(T) == 8 ? 1e200 : 1e30;
    Outputs out = stream.outputs();
    double prediction = 0;
    counting = true;
    allocations = 0;
    CHECK(engine<T>().replay(model->state, stream.batch(), out) == Status::done);
    for (Index t = 0; t < 50; ++t) {
        for (Index j = 0; j < d - 1; ++j)
            model->state.x[j] = static_cast<T>(stream.row(t)[j]);
        CHECK(engine<T>().learn(model->state, 0.5, 2.0, prediction) == Status::done);
        CHECK(engine<T>().predict(model->state, prediction, nullptr) == Status::done);
    }
    counting = false;
    CHECK(allocations == 0);
}

// Sparse rows of three entries each, through a random matrix and into first-order learners.
template <class T> void sparse_rows_allocate_nothing() {
    constexpr Index rows = 200, features = 1000;
    std::vector<double> values(3 * rows), y(rows), predictions(rows);
    std::vector<std::int32_t> columns, starts{0};
    fill(values.data(), 3 * rows);
    fill(y.data(), rows);
    for (std::int32_t t = 0; t < rows; ++t) {
        for (const std::int32_t offset : {0, 17, 501})
            columns.push_back(t + offset);
        starts.push_back(3 * (t + 1));
    }
    const CompressedRows table{values.data(), false, columns.data(), starts.data(), true, rows};
    Batch batch;
    batch.rows = rows;
    batch.y = y.data();
    const auto outputs = [&] {
        Outputs out;
        out.predictions = predictions.data();
        return out;
    };
    for (const Filling filling : {Filling::gaussian, Filling::bernoulli, Filling::sparse}) {
        Policy policy;
        policy.time = Time::divide;
        policy.amount = 0.9;
        policy.growth_limit = 1;
        SecondOrderModel<T> model(21, true, policy);
        Projection<T> projection(RandomMatrix(filling, 20, 1), features);
        projection.row.reserve(table.longest());
        Outputs out = outputs();
        allocations = 0;
        counting = true;
        CHECK(projection.replay(model.state, table, batch, out) == Status::done);
        counting = false;
        CHECK(allocations == 0 && out.done == rows && model.state.sums.rows == rows);
    }
    for (const Space space : {Space::free, Space::simplex, Space::signed_}) {
        FirstOrderPolicy policy;
        policy.space = space;
        FirstOrderModel<T> model(features + 1, true, policy);
        model.row.reserve(table.longest() + 1);
        Outputs out = outputs();
        allocations = 0;
        counting = true;
        CHECK(replay(model.state, model.row, table, batch, out) == Status::done);
        counting = false;
        CHECK(allocations == 0 && out.done == rows && model.state.sums.rows == rows);
    }
}

template <class T> void test_type() {
    for (const Named& named : policies()) {
        const int before = checks::failures;
        for (const Index d : {2, 5, 20, 33, 50})
            steps_allocate_nothing<T>(d, named.policy);
        if (checks::failures > before)
            std::fprintf(stderr, "    in %s, %s\n", named.name, sizeof(T) == 8 ? "double" : "float");
    }
    sparse_rows_allocate_nothing<T>();
}

} // namespace

int main() {
    test_type<double>();
    test_type<float>();
    return checks::result();
}
