// All products of up to `degree` features.
#pragma once

#include <map>
#include <utility>

#include "driftline/features/transform.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// A product is an earlier product times a feature, or, without an earlier one, the feature itself.
struct Monomial {
    Index earlier, feature;
};

// Ordered by degree, then by features, as (0,0), (0,1), (1,1). Features added later append their products at the end, so
// the meaning of a place never changes.
class Polynomial : public Transform {
  public:
    Polynomial(Index inputs, Index degree) : Transform(0), degree_(degree) { grow(inputs); }

    Index outputs() const override { return static_cast<Index>(products_.size()); }
    const std::vector<Monomial>& products() const { return products_; }
    void view(const double* x, double* z, Index) override {
        for (std::size_t m = 0; m < products_.size(); ++m) {
            const auto [earlier, feature] = products_[m];
            z[m] = earlier < 0 ? x[feature] : z[earlier] * x[feature];
        }
    }
    void grow(Index more) override {
        add_products(inputs_ + more);
        widths_.push_back(static_cast<double>(inputs_));
    }
    std::vector<Part> parts() override { return {{"widths", &widths_, false, true}}; }
    void restore() override {
        const Index width = inputs_;
        bool good = !widths_.empty() && widths_.back() == static_cast<double>(width);
        for (std::size_t i = 0; good && i < widths_.size(); ++i)
            good = widths_[i] == std::floor(widths_[i]) && (i == 0 || widths_[i] > widths_[i - 1]);
        if (!good)
            throw std::invalid_argument("the state's widths are out of range");
        products_.clear();
        inputs_ = 0;
        for (double next : widths_)
            add_products(static_cast<Index>(next));
    }

  private:
    struct Node {
        Index place, last; // the place of a product, and its last feature
    };

    void add_products(Index width) {
        std::map<std::pair<Index, Index>, Index> known;
        for (Index m = 0; m < outputs(); ++m)
            known[{products_[static_cast<std::size_t>(m)].earlier, products_[static_cast<std::size_t>(m)].feature}] = m;
        std::vector<Node> shorter = {{-1, 0}};
        for (Index degree = 1; degree <= degree_; ++degree) {
            std::vector<Node> longer;
            for (const Node& node : shorter)
                for (Index feature = node.last; feature < width; ++feature) {
                    const auto found = known.find({node.place, feature});
                    if (found == known.end())
                        products_.push_back({node.place, feature});
                    longer.push_back({found == known.end() ? outputs() - 1 : found->second, feature});
                }
            shorter = std::move(longer);
        }
        inputs_ = width;
    }

    Index degree_;
    std::vector<Monomial> products_;
    std::vector<double> widths_; // the width after each addition of features
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
