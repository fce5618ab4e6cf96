// Gradient boosting on a given set of rows: a fixed number of trees, each fitted to what the ones before it leave.
#pragma once

#include <vector>

#include "driftline/ensembles/tree.hpp"

namespace driftline {

class Boosting {
  public:
    static constexpr Index most_trees = 100;

    // Fits `columns` columns of the first `rows` rows, (rows, columns), to `left`, which is overwritten with the residuals.
    void fit(const float* x, Index columns, Index rows, std::vector<double>& left, const std::vector<double>& weights) {
        trees_.clear();
        std::vector<Edges> edges = edges_of(x, columns, rows);
        std::vector<std::vector<std::uint8_t>> bins = bins_of(edges, x, columns, rows);
        std::vector<Index> all(static_cast<std::size_t>(rows)), chosen(static_cast<std::size_t>(columns));
        for (Index t = 0; t < rows; ++t)
            all[t] = t;
        for (Index j = 0; j < columns; ++j)
            chosen[j] = j;
        static thread_local TreeFit fit; // scratch space shared by all models
        fit.set_sample(all, chosen, bins, edges);
        std::vector<float> gains(static_cast<std::size_t>(columns));
        std::vector<std::uint8_t> leaves(static_cast<std::size_t>(round_up(rows, bytes_at_once)));
        for (Index k = 0; k < most_trees; ++k) {
            for (Index t = 0; t < rows; ++t)
                fit.set_term(static_cast<std::size_t>(t), left[t], weights[t]);
            std::int8_t edge[Tree::splits];
            Tree& tree = trees_.emplace_back();
            fit.fit(tree, edges, edge, gains);
            const std::uint8_t* of_split[Tree::splits];
            for (Index i = 0; i < Tree::splits; ++i)
                of_split[i] = bins[tree.split[i].feature].data();
            trees_engine().find_leaves(of_split, edge, rows, leaves.data());
            for (Index t = 0; t < rows; ++t)
                left[t] -= tree.leaf[leaves[t]];
        }
    }
    double predict(const float* row) const {
        double total = 0;
        for (const Tree& tree : trees_)
            total += tree.leaf[tree.find(row)];
        return total;
    }

  private:
    static std::vector<Edges> edges_of(const float* x, Index columns, Index rows) {
        std::vector<Edges> edges(static_cast<std::size_t>(columns));
        std::vector<float> column(static_cast<std::size_t>(rows));
        for (Index j = 0; j < columns; ++j) {
            for (Index t = 0; t < rows; ++t)
                column[t] = x[t * columns + j];
            take_edges(edges[j], column);
        }
        return edges;
    }
    static std::vector<std::vector<std::uint8_t>> bins_of(const std::vector<Edges>& edges, const float* x, Index columns,
                                                          Index rows) {
        const auto room = static_cast<std::size_t>(round_up(rows, bytes_at_once));
        std::vector<std::vector<std::uint8_t>> bins(static_cast<std::size_t>(columns), std::vector<std::uint8_t>(room));
        std::vector<std::uint8_t> row(static_cast<std::size_t>(columns));
        for (Index t = 0; t < rows; ++t) {
            trees_engine().find_bins(edges.data(), x + t * columns, columns, row.data());
            for (Index j = 0; j < columns; ++j)
                bins[j][t] = row[j];
        }
        return bins;
    }

    std::vector<Tree> trees_;
};

} // namespace driftline
