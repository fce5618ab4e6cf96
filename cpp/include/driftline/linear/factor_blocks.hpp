// Blocks of rows through a factor.
//
// In a group of columns a row needs only what the previous row left there, and from earlier groups only its own running sums
// (see factor.hpp). So all rows of a block pass through one group before any of them enters the next: the matrix is fetched
// from memory once per block, and every number is the same, to the last bit, as if the rows had come one by one. A second
// thread may take the later columns.
//
// This requires that the noise of a row is known before its x'S x; if it is 1 - x'S x, rows go one by one. If resets have a
// guard (see reset.hpp), an additional pass through the guard finds the rows that cannot cause a reset.
#pragma once

#include "driftline/linear/blocks.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// A row and its progress through the columns.
template <class T> struct BlockRow {
    T *x = nullptr, *k = nullptr;
    View view;
    double rho = 0;
    ColumnProgress progress;
    Doubles s;             // x'S x so far
    double negligible = 0; // if D_j f_j^2 is larger, f_j is more than rounding

    void set_out(double noise) {
        rho = noise;
        progress = ColumnProgress::begin<T>(noise);
        s = Doubles{};
    }
};

// Does what hold_growth does, for the columns of one group.
template <class T> DRIFTLINE_ONCE void hold_group_growth(const Factor<T>& s, const BlockRow<T>& row, Index g) {
    for (Index j = 4 * g; j < 4 * g + 4; ++j) {
        if (j >= s.used) { // the padding does not grow
            s.grown[j] = smallest_variance;
            continue;
        }
        const double f = static_cast<double>(s.product[j]);
        if (!(s.grown[j] > row.view.growth.watch) || s.grown[j] * f * f > row.negligible)
            continue;
        const Index rows = panel_rows<T>(j / panel_width<T>);
        if (std::fabs(f) <= rounding_share<T>(s.used) * absolute_terms(s.u + panel_index<T>(0, j), row.x, rows))
            s.product[j] = 0;
    }
}

// Prepares the update of the columns of group g by the row, whose product was formed.
template <class T> DRIFTLINE_INLINE void prepare_columns(const Factor<T>& s, Row<0, T>& at, BlockRow<T>& row, Index g) {
    const Growth& growth = row.view.growth;
    bool weak = false;
    for (Index j = 4 * g; j < 4 * g + 4; j += lanes<double>) {
        const Doubles grown = load_doubles(s.d + j) * growth.grow, f = load_doubles(at.product + j);
        store_doubles(at.grown + j, grown);
        weak |= any((grown > growth.watch) & (grown * f * f <= row.negligible));
    }
    if (weak) [[unlikely]]
        hold_group_growth(s, row, g);
    for (Index j = 4 * g; j < 4 * g + 4; j += lanes<double>)
        row.s += weigh_columns(at, j);
    scale_columns(s, at, row.progress, g);
}

// Updates with the prepared row, and forms the products with `next`. A separate function, since it needs all registers.
template <class T>
DRIFTLINE_ONCE void pass_columns(const Factor<T>& s, Row<0, T>& at, const BlockRow<T>& row, Index g, const T* next) {
    at.k = row.k;
    update_columns<false>(s.u + panel_index<T>(0, 4 * g), at, g, next, at.product);
}

// U'x of many rows in one pass, two rows at a time.
template <class T> void multiply_rows(const Factor<T>& s, const std::vector<BlockRow<T>>& rows, Index count, T* products) {
    for (Index j = 0; j < s.used; j += 4) {
        const Index length = panel_rows<T>(j / panel_width<T>);
        const T* const u0 = s.u + panel_index<T>(0, j);
        const T *const u1 = u0 + length, *const u2 = u1 + length, *const u3 = u2 + length;
        for (Index a = 0; a < count; a += 2) {
            const Index b = std::min(a + 1, count - 1);
            const T *const x = rows[static_cast<std::size_t>(a)].x, *const z = rows[static_cast<std::size_t>(b)].x;
            Wide<T> x0 = {}, x1 = {}, x2 = {}, x3 = {}, z0 = {}, z1 = {}, z2 = {}, z3 = {};
            for (Index i = 0; i < length; i += lanes<T>) {
                const Wide<T> v0 = wide(u0 + i), v1 = wide(u1 + i), v2 = wide(u2 + i), v3 = wide(u3 + i);
                const Wide<T> xi = wide(x + i), zi = wide(z + i);
                x0 += v0 * xi, x1 += v1 * xi, x2 += v2 * xi, x3 += v3 * xi;
                z0 += v0 * zi, z1 += v1 * zi, z2 += v2 * zi, z3 += v3 * zi;
            }
            store_sums(products + a * s.size + j, x0, x1, x2, x3);
            store_sums(products + b * s.size + j, z0, z1, z2, z3);
        }
    }
}

// Updates x_a'S x_b, for b <= a at [a * count + b], after row t: S has lost k k' / a.
inline void take_in(std::vector<double>& pairs, Index count, Index t, double a) {
    const auto at = [&](Index i, Index j) -> double& { return pairs[static_cast<std::size_t>(i * count + j)]; };
    for (Index i = t + 1; i < count; ++i)
        for (Index j = t + 1; j <= i; ++j)
            at(i, j) -= at(i, t) * at(j, t) / a;
}

template <class V> DRIFTLINE_INLINE V sizes_of(V a) { return a > 0 ? a : -a; }

// An upper bound on the eigenvalues of S: the trace, or the product of norms of U, D and U' if that is less.
template <class T> double largest_eigenvalue(const Factor<T>& s) {
    double trace = 0, variance = 0, column_norm = 0, row_norm = 0;
    Aligned<T> along_rows(s.size);
    T* const sums = along_rows.data();
    for (Index j = 0; j < s.used; ++j) {
        const T* const column = s.u + panel_index<T>(0, j);
        const Index length = panel_rows<T>(j / panel_width<T>);
        Wide<T> total = {};
        for (Index i = 0; i < length; i += lanes<T>) {
            const Wide<T> sizes = sizes_of(wide(column + i));
            store(sums + i, wide(sums + i) + sizes);
            total += sizes;
        }
        trace += s.d[j] * dot(column, column, length);
        variance = at_least(variance, s.d[j]);
        column_norm = at_least(column_norm, static_cast<double>(sum<T>(total)));
    }
    for (Index i = 0; i < s.used; ++i)
        row_norm = at_least(row_norm, static_cast<double>(sums[i]));
    return at_most(trace, row_norm * variance * column_norm);
}

template <class T> class FactorBlocks : public BlockReplay<T> {
  public:
    FactorBlocks(SecondOrderState<T>& m, const Batch& batch, Outputs& out, bool two_threads)
        : BlockReplay<T>(m, batch, out, two_threads, most_, 8), rows_(static_cast<std::size_t>(capacity_ + 1)),
          numbers_(2 * size_ * (capacity_ + 1)) {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            rows_[i].x = numbers_.data() + 2 * size_ * static_cast<Index>(i);
            rows_[i].k = rows_[i].x + size_;
        }
        if (m.guard.u)
            extras_.after = false; // blocks are safe from resets
    }

    // Whether under the policy only the step changes S, at least for some rows.
    static bool suits(const SecondOrderState<T>& m) {
        const Policy& policy = m.policy;
        return !m.additive && !policy.complement && !policy.turns_labels() && policy.radius == 0 &&
               policy.growth_limit == 0 && !policy.keep_prior && (policy.reset != Reset::below || m.guard.u) &&
               (policy.reset != Reset::every || policy.unit == 0);
    }

  private:
    using BlockReplay<T>::m_, BlockReplay<T>::batch_, BlockReplay<T>::out_, BlockReplay<T>::reader_, BlockReplay<T>::extras_,
        BlockReplay<T>::size_, BlockReplay<T>::worker_, BlockReplay<T>::alone_, BlockReplay<T>::capacity_;

    static constexpr Index most_ = 64, few_ = 4; // rows of a block; rows that a thread finishes before it passes them on
    static constexpr double least_noise = sizeof(T) == 8 ? 1e-40 : 1e-10; // slopes stay far from the end of the range

    std::vector<BlockRow<T>> rows_; // one more than a block has, for the next row
    Aligned<T> numbers_;
    Aligned<T> products_; // of all rows with the guard
    std::vector<double> pairs_;
    bool follows_ = false;      // the first row is loaded, and the products are its own
    double reach_ = HUGE_VAL;   // upper bound on the eigenvalues of S
    bool out_of_reach_ = false; // that bound kept a row out of the block

    BlockRow<T>& row(Index i) { return rows_[static_cast<std::size_t>(i)]; }

    void forget_products() override {
        follows_ = false;
        reach_ = HUGE_VAL;
    }

    bool learn_block() override {
        if (reach_ == HUGE_VAL && !few_are_plain())
            return false;
        Index n = gather();
        if (n == 0 && out_of_reach_) {
            reach_ = largest_eigenvalue(m_.factor);
            n = gather();
        }
        if (n > 0 && m_.guard.u)
            n = rows_safe_from_reset(n);
        if (n < few_)
            return false;
        learn(n);
        return true;
    }

    // Whether the next few rows have no missing values.
    bool few_are_plain() {
        View view;
        Index n = 0;
        for (; n < std::min(few_, this->most_rows()); ++n) {
            reader_.take(row(n).x, out_.done + n);
            if (!this->look_ahead(row(n).x, n, view))
                break;
        }
        return n == few_;
    }

    // The rows that the plain step can take, given the bound on S: none too large, and none too small.
    Index gather() {
        const Policy& policy = m_.policy;
        if (m_.guard.u && (m_.sums.pending != 0 || m_.guard.d[0] >= no_room ||
                           !m_.thresholds.covers(static_cast<Index>(m_.sums.segment) + 1)))
            return 0;
        const double resolvable = policy.time == Time::divide ? resolution<T> * policy.noise : HUGE_VAL;
        const double s_limit = at_most(largest_s<T>, resolvable), share = rounding_share<T>(m_.d);
        const Index most = this->most_rows();
        Index n = 0;
        double reach = reach_;
        out_of_reach_ = false;
        for (; n < most; ++n) {
            BlockRow<T>& one = row(n);
            if (!(n == 0 && follows_))
                reader_.take(one.x, out_.done + n);
            if (!this->look_ahead(one.x, n, one.view))
                break;
            reach *= one.view.growth.grow;
            const double most_s = 2 * reach * one.view.norm2; // twice: rounding
            const double rho = policy.noise / weight_of(batch_, out_.done + n);
            out_of_reach_ = !(most_s <= s_limit && 2 * reach <= one.view.growth.cap);
            if (out_of_reach_ || !(rho >= least_noise && rho <= largest_noise) || one.view.norm2 > largest_information * rho)
                break;
            one.set_out(rho);
            one.negligible = share * share * most_s;
        }
        return n;
    }
    // Computed from x_a'B x_b of the guard's B for all pairs of rows.
    Index rows_safe_from_reset(Index n) {
        form_pairs(m_.guard, n);
        for (Index t = 0; t < n; ++t) {
            const double s = pairs_[static_cast<std::size_t>(t * n + t)], rho = row(t).rho;
            if (!(s / rho - 1 < -2 * tie_margin<T>))
                return t;
            take_in(pairs_, n, t, s - rho);
        }
        return n;
    }

    void form_pairs(const Factor<T>& s, Index n) {
        if (!products_.data())
            products_ = Aligned<T>((capacity_ + 1) * size_);
        T *const products = products_.data(), *const weighted = products + capacity_ * size_;
        multiply_rows(s, rows_, n, products);
        pairs_.resize(static_cast<std::size_t>(n * n));
        for (Index a = 0; a < n; ++a) {
            for (Index j = 0; j < s.used; ++j)
                weighted[j] = static_cast<T>(s.d[j] * products[a * size_ + j]);
            for (Index b = 0; b <= a; ++b)
                pairs_[static_cast<std::size_t>(a * n + b)] = dot(weighted, products + b * size_, size_);
        }
    }

    void learn(Index n) {
        if (!follows_) {
            multiply(m_.factor, row(0).x);
            if (m_.guard.u)
                multiply(m_.guard, row(0).x);
        }
        follows_ = out_.done + n < batch_.rows;
        if (follows_)
            reader_.take(row(n).x, out_.done + n);
        const T* const next = follows_ ? row(n).x : row(0).x;
        update(m_.factor, n, next);
        m_.ready = true;
        for (Index i = 0; i < n; ++i) {
            reach_ *= row(i).view.growth.grow;
            row(i).view.s = row(i).s[0];
            this->conclude_row(row(i).x, row(i).k, row(i).view, row(i).rho, next);
        }
        if (m_.guard.u) {
            for (Index i = 0; i < n; ++i)
                row(i).set_out(-row(i).rho);
            update(m_.guard, n, next);
        }
        std::swap(row(0).x, row(n).x);
        if (!m_.ready) // S was reset
            forget_products();
    }

    void update(const Factor<T>& s, Index n, const T* next) {
        const Index groups = (s.used + 3) / 4;
        if (alone_ || n <= few_)
            update_rows(s, 0, n, next, 0, groups);
        else
            update_together(s, n, next, groups);
    }

    // Passes rows [first, last) through groups of columns [from, to), two groups at a time: while a row passes one of them,
    // the divisions that the next row needs for the other are in progress.
    void update_rows(const Factor<T>& s, Index first, Index last, const T* next, Index from, Index to) {
        Row<0, T> at(s);
        for (Index g = from, stop; g < to; g = stop) {
            stop = std::min(g + 2, to);
            for (Index c = g; c < stop; ++c)
                prepare_columns(s, at, row(first), c);
            for (Index i = first; i < last; ++i)
                for (Index c = g; c < stop; ++c) {
                    pass_columns(s, at, row(i), c, i + 1 < last ? row(i + 1).x : next);
                    if (i + 1 < last)
                        prepare_columns(s, at, row(i + 1), c);
                }
        }
    }

    // Each thread has its own columns, which stay in its cache: a few rows pass through this thread's columns, and then
    // through the other's, while this one takes the next few.
    void update_together(const Factor<T>& s, Index n, const T* next, Index groups) {
        const Index mine = static_cast<Index>(std::sqrt(0.5) * static_cast<double>(groups)); // half of the work
        const auto pass_few = [&](Index first, Index from, Index to) {
            const Index last = std::min(first + few_, n);
            update_rows(s, first, last, last < n ? row(last).x : next, from, to);
        };
        std::atomic<Index> passed{0};
        const auto follow = [&] {
            for (Index first = 0; first < n; first += few_) {
                for (int spins = 0; passed.load(std::memory_order_acquire) <= first; ++spins)
                    if (spins > 1000)
                        std::this_thread::yield();
                pass_few(first, mine, groups);
            }
        };
        worker_.start(follow);
        for (Index first = 0; first < n; first += few_) {
            pass_few(first, 0, mine);
            passed.store(first + few_, std::memory_order_release);
        }
        worker_.wait();
    }
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
