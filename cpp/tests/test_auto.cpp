// Auto and its experts outside the linear core, compared with plain formulas, and with calls in any order.
#include <cstring>
#include <memory>
#include <random>

#include "check.hpp"
#include "driftline/ensembles/auto_model.hpp"

namespace {

using namespace driftline;

std::mt19937_64 source(7);
double normal() { return std::normal_distribution<double>()(source); }

// A row in a buffer of its exact size, so that a sanitizer notices reads beyond its end.
std::unique_ptr<double[]> row_of(Index d) {
    auto row = std::make_unique<double[]>(static_cast<std::size_t>(d));
    for (Index j = 0; j < d; ++j)
        row[static_cast<std::size_t>(j)] = normal();
    return row;
}

void differences_are_sums_with_binomial_coefficients() {
    const Index d = 3, lags = Differences::lags(d);
    RowHistory trail(d, lags);
    Differences differences(d, lags);
    std::vector<double> labels;
    std::vector<std::unique_ptr<double[]>> rows;
    for (Index t = 0; t < 40; ++t) {
        rows.push_back(row_of(d));
        PredictionContext context;
        trail.look(rows.back().get(), 0, context);
        std::vector<double> written(static_cast<std::size_t>(differences.columns()));
        differences.write(context, written.data());
        long double factor = 1; // binomial coefficients of the highest order, with alternating signs
        if (t >= near_labels) {
            long double expected = 0;
            for (Index k = 0; k < near_labels; ++k) {
                expected += factor * labels[static_cast<std::size_t>(t - 1 - k)];
                factor *= -static_cast<long double>(near_labels - 1 - k) / (k + 1);
            }
            CHECK_NEAR(written[near_labels - 1], expected, 1e-9L);
            CHECK(written[0] == labels.back());
            for (Index j = 0; j < d; ++j) {
                CHECK(written[static_cast<std::size_t>(near_labels + j)] == rows.back()[static_cast<std::size_t>(j)]);
                const double change = rows.back()[static_cast<std::size_t>(j)] -
                                      rows[static_cast<std::size_t>(t - 1)][static_cast<std::size_t>(j)];
                CHECK(written[static_cast<std::size_t>(near_labels + d + j)] == change);
            }
        }
        labels.push_back(normal());
        trail.remember(rows.back().get(), labels.back(), nullptr);
    }
}

void lags_count_back_from_the_predicted_row() {
    RowHistory trail(1, 1);
    for (Index t = 0; t < 400; ++t) {
        const double x = 0, y = static_cast<double>(t);
        trail.remember(&x, y, nullptr);
    }
    for (const Index delay : {0, 4, 29}) {
        const double x = 0;
        PredictionContext context;
        trail.look(&x, delay, context);
        CHECK(context.near[0] == 399 && context.near[3] == 396);
        for (Index k = 0; k < far_count; ++k) {
            const Index season = far_labels[k], rows_back = (delay + season) / season * season;
            CHECK(context.seasons[k] == static_cast<double>(400 + delay - rows_back));
        }
    }
}

// After 1,500 rows the prior is forgotten and units do not matter: the solution of the normal equations is unique.
void a_regression_in_fixed_units_is_least_squares() {
    const double forgetting = 0.98, true_weights[] = {2, -3};
    Regression fit(2, forgetting, 1e-3);
    long double moments[3][4] = {};
    for (Index t = 0; t < 1500; ++t) {
        const double x[] = {1000 + 5 * normal(), 1e-3 * normal()};
        const double y = true_weights[0] * x[0] + true_weights[1] * 1e3 * x[1] + normal();
        const long double z[] = {1, x[0] - 1000.0L, 1e3L * x[1]};
        for (Index i = 0; i < 3; ++i) {
            for (Index j = 0; j < 3; ++j)
                moments[i][j] = forgetting * moments[i][j] + z[i] * z[j];
            moments[i][3] = forgetting * moments[i][3] + z[i] * y;
        }
        fit.learn(x, y, 1);
    }
    for (Index i = 0; i < 3; ++i) // Gauss-Jordan elimination
        for (Index r = 0; r < 3; ++r) {
            const long double factor = r == i ? 0 : moments[r][i] / moments[i][i];
            for (Index j = 0; j < 4; ++j)
                moments[r][j] -= factor * moments[i][j];
        }
    for (Index n = 0; n < 5; ++n) {
        const double x[] = {1000 + 5 * normal(), 1e-3 * normal()};
        const long double expected = moments[0][3] / moments[0][0] + moments[1][3] / moments[1][1] * (x[0] - 1000.0L) +
                                     moments[2][3] / moments[2][2] * 1e3L * x[1];
        CHECK_NEAR(fit.predict(x), expected, 1e-6L);
    }
}

// Nine values fit into the bins; a threshold inside a bin would cost more than any other error of the trees.
void trees_find_the_column_that_matters() {
    const Index columns = 8;
    Trees trees(columns, {1024, 1, 0.1});
    const auto target = [](const float* row) { return row[3] > 0.5f ? 4.0 : row[3] > -0.5f ? -1.0 : 2.0; };
    float row[columns];
    double loss = 0, spread = 0;
    for (Index t = 0; t < 4000; ++t) {
        for (float& value : row)
            value = static_cast<float>(source() % 9) - 4;
        const double y = target(row) + 0.1 * normal();
        if (t >= 3000) {
            loss += (y - trees.predict(row)) * (y - trees.predict(row));
            spread += (y - 1.5) * (y - 1.5);
        }
        trees.learn(row, y, 1);
    }
    CHECK(loss < 0.02 * spread); // the noise alone accounts for 0.003
    double importance[columns];
    trees.importance(importance);
    for (Index j = 0; j < columns; ++j) // irrelevant columns share the gain from fitting noise
        CHECK(j == 3 || importance[3] > 3 * importance[j]);
}

// Compared with every split of every column, from sums over the rows.
void the_best_split_reduces_the_squared_error_most() {
    const Index rows = 200, width = 7;
    std::vector<Term> terms(rows), bars(width * most_bins);
    std::vector<std::uint8_t> bins(rows * width);
    std::vector<std::uint16_t> own;
    const Index edges[width] = {31, 1, 4, 31, 7, 30, 2};
    for (Index i = 0; i < rows; ++i) {
        const double weight = 0.5 + static_cast<double>(source() % 3);
        terms[i] = {weight * normal(), weight};
        for (Index c = 0; c < width; ++c)
            bins[i * width + c] = static_cast<std::uint8_t>(2 * (source() % static_cast<unsigned>(edges[c] + 1)));
        if (i % 3 != 0)
            own.push_back(static_cast<std::uint16_t>(i));
    }
    const auto score = [](long double sum, long double weight) { return sum * sum / (weight + 1); };
    long double most = 0;
    for (Index c = 0; c < width; ++c)
        for (Index edge = 0; edge < edges[c]; ++edge) {
            long double sum[2] = {}, weight[2] = {};
            for (const std::uint16_t i : own) {
                const bool right = bins[i * width + c] / 2 > edge;
                sum[right] += terms[i].sum;
                weight[right] += terms[i].weight;
            }
            if (weight[0] >= 8 && weight[1] >= 8)
                most = std::max(most, score(sum[0], weight[0]) + score(sum[1], weight[1]) -
                                          score(sum[0] + sum[1], weight[0] + weight[1]));
        }
    const TreeSample sample{terms.data(), bins.data(), edges, width, bars.data()};
    const TreeSplit best = trees_engine().best_split(sample, own.data(), own.data() + own.size());
    CHECK(best.column >= 0 && most > 0);
    CHECK_NEAR(best.gain, most, 1e-6L);
    CHECK(trees_engine().best_split(sample, own.data(), own.data() + 6).column == -1);
}

void leaves_by_bins_equal_leaves_by_values() {
    const Index columns = 5, rows = 3 * bytes_at_once;
    std::vector<Edges> edges(columns);
    std::vector<float> sample;
    for (Edges& one : edges) {
        sample.clear();
        for (Index t = 0; t < 100; ++t)
            sample.push_back(static_cast<float>(normal()));
        take_edges(one, sample);
        CHECK(one.count == most_bins - 1);
    }
    Tree tree;
    std::int8_t edge[Tree::splits];
    for (Index i = 0; i < Tree::splits; ++i) {
        const auto column = static_cast<std::int32_t>(source() % columns);
        edge[i] = static_cast<std::int8_t>(source() % (most_bins - 1));
        tree.split[i] = {edges[column].value[edge[i]], column};
    }
    edge[4] = TreeFit::no_edge;
    tree.split[4].threshold = FLT_MAX;
    std::vector<float> x(rows * columns);
    std::vector<std::vector<std::uint8_t>> bins(columns, std::vector<std::uint8_t>(rows));
    for (Index t = 0; t < rows; ++t) {
        std::uint8_t own[columns];
        for (Index j = 0; j < columns; ++j) // including values on the edges
            x[t * columns + j] = t % 2 ? static_cast<float>(normal()) : edges[j].value[source() % (most_bins - 1)];
        trees_engine().find_bins(edges.data(), x.data() + t * columns, columns, own);
        for (Index j = 0; j < columns; ++j)
            bins[j][t] = own[j];
    }
    const std::uint8_t* of_split[Tree::splits];
    for (Index i = 0; i < Tree::splits; ++i)
        of_split[i] = bins[tree.split[i].feature].data();
    std::vector<std::uint8_t> leaves(rows);
    trees_engine().find_leaves(of_split, edge, rows, leaves.data());
    for (Index t = 0; t < rows; ++t)
        CHECK(leaves[t] == tree.find(x.data() + t * columns));
}

// Parts that are not saved are recomputed: the bins, and the leaves of all rows.
void loaded_trees_resume_as_if_never_stopped() {
    const Index columns = 6;
    for (const Index rows : {20, 33, 100, 300, 1024, 1500}) {
        Trees trees(columns, {1024, 0.5, 0.1}), again(columns, {1024, 0.5, 0.1});
        const auto next = [&](float* row) {
            for (Index j = 0; j < columns; ++j)
                row[j] = j % 2 ? static_cast<float>(normal()) : static_cast<float>(source() % 5);
            return static_cast<double>(row[0] > 2) + row[1] + 0.1 * normal();
        };
        float row[columns];
        for (Index t = 0; t < rows; ++t) {
            const double y = next(row);
            trees.learn(row, y, 1 + t % 2);
        }
        std::vector<double> layout, numbers;
        trees.layout(layout);
        CHECK(again.set_layout(layout.data(), layout.data() + layout.size()) == layout.data() + layout.size());
        trees.visit([&](auto* from, Index count) { numbers.insert(numbers.end(), from, from + count); }, columns, 0);
        const double* from = numbers.data();
        again.visit(
            [&](auto* to, Index count) {
                for (Index i = 0; i < count; ++i)
                    to[i] = static_cast<std::remove_reference_t<decltype(*to)>>(*from++);
            },
            columns, 0);
        CHECK(from == numbers.data() + numbers.size() && again.complete());
        for (Index t = 0; t < 200; ++t) {
            const double y = next(row);
            CHECK(trees.predict(row) == again.predict(row));
            trees.learn(row, y, 1);
            again.learn(row, y, 1);
        }
    }
}
void a_split_below_a_leaf_is_refused() {
    Tree tree;
    CHECK(tree.set_shape(0b1011) && tree.shape() == 0b1011); // the root, its left child, and the left child of that
    CHECK(!tree.set_shape(0b1001));
}
void features_shared_with_other_trees_are_copied() {
    const TreesKind narrow_kind{64, 1, 0.1, 1, 2}, alone_kind{128, 1, 0.1};
    Trees narrow(3, narrow_kind), wide(4, {128, 1, 0.1, 2, 2}), alone(1, alone_kind);
    for (Index t = 0; t < 200; ++t) {
        const double feature = normal(), change = normal(), one[] = {normal(), feature, change};
        const double other[] = {1, 2, feature, change}, weight = 1 + t % 3;
        float row[4];
        narrow.narrow(one, row);
        CHECK(row[0] == static_cast<float>(one[0]));
        CHECK(row[1] == static_cast<float>(feature) && row[2] == rounded_to_half(static_cast<float>(change)));
        alone.learn(row + 1, 0, weight);
        if (t < 120) // the others start later
            continue;
        narrow.learn(row, 0, weight);
        wide.narrow(other, row);
        wide.learn(row, 0, weight);
    }
    const auto numbers_of = [](Trees& trees, Index columns, Index shared) {
        std::vector<double> out;
        trees.visit([&](auto* from, Index count) { out.insert(out.end(), from, from + count); }, columns, shared);
        return out;
    };
    const auto check = [&](Trees& trees, TreesKind kind) {
        Trees again(trees.columns(), kind);
        std::vector<double> layout, kept = numbers_of(trees, kind.labels, wide.kept());
        trees.layout(layout);
        again.set_layout(layout.data(), layout.data() + layout.size());
        const double* from = kept.data();
        again.visit(
            [&](auto* to, Index count) {
                for (Index i = 0; i < count; ++i)
                    to[i] = static_cast<std::remove_reference_t<decltype(*to)>>(*from++);
            },
            kind.labels, wide.kept());
        again.copy_features(wide);
        CHECK(from == kept.data() + kept.size());
        CHECK(numbers_of(again, again.columns(), 0) == numbers_of(trees, trees.columns(), 0));
    };
    check(narrow, narrow_kind);
    check(alone, alone_kind);
}

template <class T> std::vector<double> state_of(AutoModel<T>& model) {
    std::vector<double> out;
    model.visit([&](auto* from, Index count) { out.insert(out.end(), from, from + count); });
    return out;
}

template <class T> void rows_in_blocks_equal_single_rows(Index d) {
    const Index rows = 700;
    std::vector<double> x(static_cast<std::size_t>(rows * d)), y(static_cast<std::size_t>(rows));
    for (double& value : x)
        value = static_cast<double>(static_cast<T>(normal()));
    for (Index t = 0; t < rows; ++t)
        y[static_cast<std::size_t>(t)] = x[static_cast<std::size_t>(t * d)] + 0.1 * normal();
    y[400] = 1e5; // an outlier, which is learned on its own
    AutoModel<T> together(d, d, true, {}), singly(d, d, true, {});
    std::vector<double> predictions(y.size());
    Batch batch{};
    batch.x = x.data();
    batch.y = y.data();
    batch.rows = rows;
    batch.row_stride = d;
    batch.column_stride = 1;
    Outputs out;
    out.predictions = predictions.data();
    CHECK(together.replay(batch, out) == Status::done);
    for (Index t = 0; t < rows; ++t)
        CHECK(singly.learn(x.data() + t * d, y[static_cast<std::size_t>(t)], 1) == predictions[static_cast<std::size_t>(t)]);
    const std::vector<double> a = state_of(together), b = state_of(singly);
    CHECK(a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// Immediate and late labels, with features added later.
template <class T> void any_order_of_calls_stays_within_its_buffers(Index d) {
    AutoModel<T> model(d, d, true, {});
    struct Waiting {
        std::unique_ptr<double[]> x;
        Index width;
        double prediction;
        std::vector<double> record;
        bool first;
    };
    std::vector<Waiting> waiting;
    for (Index t = 0; t < 120; ++t) {
        if (t == 60)
            model.grow(2);
        const Index width = model.features();
        auto x = row_of(width);
        if (t % 3 == 0) {
            Waiting one{std::move(x), width, 0, {}, model.sums.rows == 0};
            one.prediction = model.ask(one.x.get(), t % 30, one.record);
            CHECK(std::isfinite(one.prediction));
            waiting.push_back(std::move(one));
        } else {
            CHECK(std::isfinite(model.predict(x.get(), 0)));
            model.learn(x.get(), normal(), 1);
        }
        if (t % 4 == 1 && !waiting.empty()) {
            Waiting& one = waiting.front();
            auto wide = std::make_unique<double[]>(static_cast<std::size_t>(width));
            std::copy_n(one.x.get(), one.width, wide.get());
            if (one.first)
                model.tell_first(wide.get(), normal(), 1);
            else
                model.tell(wide.get(), normal(), 1, one.prediction, one.record);
            waiting.erase(waiting.begin());
        }
    }
    for (const double number : state_of(model))
        CHECK(std::isfinite(number));
}

} // namespace

int main() {
    differences_are_sums_with_binomial_coefficients();
    lags_count_back_from_the_predicted_row();
    a_regression_in_fixed_units_is_least_squares();
    trees_find_the_column_that_matters();
    the_best_split_reduces_the_squared_error_most();
    leaves_by_bins_equal_leaves_by_values();
    loaded_trees_resume_as_if_never_stopped();
    a_split_below_a_leaf_is_refused();
    features_shared_with_other_trees_are_copied();
    for (const Index d : {1, 2, 3, 13, 20}) {
        rows_in_blocks_equal_single_rows<double>(d);
        any_order_of_calls_stays_within_its_buffers<double>(d);
    }
    rows_in_blocks_equal_single_rows<float>(3);
    any_order_of_calls_stays_within_its_buffers<float>(3);
    return checks::result();
}
