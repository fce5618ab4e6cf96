// Blocks of rows through a factor.
//
// Of a group of columns a row needs what the row before it left there, and of the groups before only its own running sums
// (see factor.hpp). So all rows of a block go through one group before any of them goes on to the next: the matrix comes
// from memory once for a block, and every number is the same, to the last bit, as if the rows had come one by one. A second
// thread may follow behind the first with rows of its own.
//
// For that the noise of a row must be known before its x'S x is. Where the noise is 1 - x'S x, one more walk tells it for
// all rows of the block; where resets have a guard (see reset.hpp), that walk tells which rows are safe from a reset.
#pragma once

#include "driftline/blocks.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// A row on its way through the columns.
template <class T> struct BlockRow {
    T *x = nullptr, *k = nullptr;
    View view;
    double rho = 0;
    Passage passage;
    Doubles s;          // x'S x so far
    double unheard = 0; // where D_j f_j^2 is larger, f_j is more than rounding

    void set_out(double noise) {
        rho = noise;
        passage = Passage::begin<T>(noise);
        s = Doubles{};
    }
};

// As hold_growth has it, for the columns of one group.
template <class T> DRIFTLINE_ONCE void listen(const Factor<T>& s, const BlockRow<T>& row, Index g) {
    for (Index j = 4 * g; j < 4 * g + 4; ++j) {
        if (j >= s.used) { // the padding has nothing to forget
            s.grown[j] = smallest_variance;
            continue;
        }
        const double f = static_cast<double>(s.product[j]);
        if (!(s.grown[j] > row.view.growth.watch) || s.grown[j] * f * f > row.unheard)
            continue;
        const Index rows = panel_rows<T>(j / panel_width<T>);
        if (std::fabs(f) <= silence_of<T>(s.used) * absolute_terms(s.u + panel_index<T>(0, j), row.x, rows))
            s.product[j] = 0;
    }
}

// What the row, whose product is at hand, means to the columns of group g.
template <class T> DRIFTLINE_INLINE void prepare_columns(const Factor<T>& s, Row<0, T>& at, BlockRow<T>& row, Index g) {
    const Growth& growth = row.view.growth;
    bool soft = false;
    for (Index j = 4 * g; j < 4 * g + 4; j += lanes<double>) {
        const Doubles grown = load_doubles(s.d + j) * growth.grow, f = load_doubles(at.product + j);
        store_doubles(at.grown + j, grown);
        soft |= any((grown > growth.watch) & (grown * f * f <= row.unheard));
    }
    if (soft) [[unlikely]]
        listen(s, row, g);
    for (Index j = 4 * g; j < 4 * g + 4; j += lanes<double>)
        row.s += weigh_columns(at, j);
    scale_columns(s, at, row.passage, g);
}

// Takes the prepared row in, and forms the products with `next`. A function of its own: it needs all registers.
template <class T>
DRIFTLINE_ONCE void pass_columns(const Factor<T>& s, Row<0, T>& at, const BlockRow<T>& row, Index g, const T* next) {
    at.k = row.k;
    update_columns<false>(s.u + panel_index<T>(0, 4 * g), at, g, next, at.product);
}

// U'x of many rows in one walk.
template <class T> void multiply_rows(const Factor<T>& s, const std::vector<BlockRow<T>>& rows, Index count, T* products) {
    for (Index j = 0; j < s.used; j += 4) {
        const Index length = panel_rows<T>(j / panel_width<T>);
        const T* const u0 = s.u + panel_index<T>(0, j);
        const T *const u1 = u0 + length, *const u2 = u1 + length, *const u3 = u2 + length;
        for (Index a = 0; a < count; ++a) {
            const T* const x = rows[static_cast<std::size_t>(a)].x;
            Wide<T> s0 = {}, s1 = {}, s2 = {}, s3 = {};
            for (Index i = 0; i < length; i += lanes<T>) {
                const Wide<T> xi = wide(x + i);
                s0 += wide(u0 + i) * xi, s1 += wide(u1 + i) * xi, s2 += wide(u2 + i) * xi, s3 += wide(u3 + i) * xi;
            }
            store_sums(products + a * s.size + j, s0, s1, s2, s3);
        }
    }
}

// x_a'S x_b, for b <= a at [a * count + b]: what is left of it once row t was taken in and S has lost k k' / a.
inline void take_in(std::vector<double>& pairs, Index count, Index t, double a) {
    const auto at = [&](Index i, Index j) -> double& { return pairs[static_cast<std::size_t>(i * count + j)]; };
    for (Index i = t + 1; i < count; ++i)
        for (Index j = t + 1; j <= i; ++j)
            at(i, j) -= at(i, t) * at(j, t) / a;
}

// A thread's own vectors for the row at hand, beside the same matrix.
template <class T> struct Columns {
    Aligned<T> numbers;
    Aligned<double> sums;
    Factor<T> factor;
    explicit Columns(const Factor<T>& s) : numbers(3 * s.size), sums(2 * s.size), factor(s) {
        factor.product = numbers.data();
        factor.v = factor.product + s.size;
        factor.slopes = factor.v + s.size;
        factor.grown = sums.data();
        factor.sums = factor.grown + s.size;
    }
};

template <class T> class FactorBlocks : public BlockReplay<T> {
  public:
    FactorBlocks(SecondOrderState<T>& m, const Batch& batch, Outputs& out, bool two_threads)
        : BlockReplay<T>(m, batch, out, two_threads, 32), rows_(static_cast<std::size_t>(capacity_ + 1)),
          numbers_(2 * size_ * (capacity_ + 1)), second_(m.factor) {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            rows_[i].x = numbers_.data() + 2 * size_ * static_cast<Index>(i);
            rows_[i].k = rows_[i].x + size_;
        }
        if (m.guard.u)
            extras_.after = false; // blocks are safe from resets
    }

    // Whether the policy leaves S to the step alone, for some rows at least.
    static bool suits(const SecondOrderState<T>& m) {
        const Policy& policy = m.policy;
        const bool foreseeable = policy.time == Time::none && !(policy.complement && m.guard.u);
        return !m.additive && policy.radius == 0 && policy.modest == 0 && (policy.reset != Reset::below || m.guard.u) &&
               (foreseeable || !(policy.complement || m.guard.u));
    }

  private:
    using BlockReplay<T>::m_, BlockReplay<T>::batch_, BlockReplay<T>::out_, BlockReplay<T>::reader_, BlockReplay<T>::extras_,
        BlockReplay<T>::size_, BlockReplay<T>::companion_, BlockReplay<T>::alone_, BlockReplay<T>::capacity_;

    static constexpr double least_noise = sizeof(T) == 8 ? 1e-40 : 1e-10; // slopes stay far from the end of the range

    std::vector<BlockRow<T>> rows_; // one more than a block has, for the row that follows
    Aligned<T> numbers_;
    Columns<T> second_;   // of the second thread
    Aligned<T> products_; // U'x of all rows, where they are looked at in advance
    std::vector<double> pairs_;
    bool follows_ = false; // the first row is there already, and the products at hand are its own

    BlockRow<T>& row(Index i) { return rows_[static_cast<std::size_t>(i)]; }

    void forget_products() override { follows_ = false; }

    bool learn_block() override {
        Index n = gather();
        if (n == 0) {
            m_.reach = trace(m_.factor);
            n = gather();
        }
        if (n > 0 && (m_.policy.complement || m_.guard.u))
            n = foresee(n);
        if (n == 0)
            return false;
        learn(n);
        return true;
    }

    // The rows that S as a whole has room for: none of them too large, or too soft, for the plain step.
    Index gather() {
        const Policy& policy = m_.policy;
        if (m_.guard.u && (m_.sums.pending != 0 || m_.guard.d[0] >= no_room ||
                           !m_.thresholds.covers(static_cast<Index>(m_.sums.segment) + 1)))
            return 0;
        const double audible = policy.time == Time::divide ? resolution<T> * policy.noise : HUGE_VAL;
        const double loudest = at_most(largest_s<T>, audible), silence = silence_of<T>(m_.d);
        const Index most = this->most_rows();
        Index n = 0;
        for (; n < most; ++n) {
            BlockRow<T>& one = row(n);
            if (!(n == 0 && follows_))
                reader_.take(one.x, out_.done + n);
            if (!this->look_ahead(one.x, n, one.view))
                break;
            const double reach = m_.reach * one.view.growth.grow, loudness = 2 * reach * one.view.norm2; // twice: rounding
            const double rho = noise_of(policy.complement ? 1 : policy.noise, n);
            if (!(loudness <= loudest && 2 * reach <= one.view.growth.cap && rho >= least_noise))
                break;
            m_.reach = reach;
            one.set_out(rho);
            one.unheard = silence * silence * loudness;
        }
        return n;
    }
    double noise_of(double noise, Index n) const {
        return at_most(at_least(smallest_noise<T>, noise / weight_of(batch_, out_.done + n)), largest_noise);
    }

    // How many of the rows are safe from a reset; or have a noise, which they are given.
    Index foresee(Index n) {
        const bool guarded = m_.guard.u != nullptr;
        form_pairs(guarded ? m_.guard : m_.factor, n);
        for (Index t = 0; t < n; ++t) {
            const double s = pairs_[static_cast<std::size_t>(t * n + t)], rho = guarded ? row(t).rho : noise_of(1 - s, t);
            if (guarded ? !(s / rho - 1 < -2 * tie_margin<T>) : !(s < 1 && rho >= least_noise))
                return t;
            if (!guarded)
                row(t).set_out(rho);
            take_in(pairs_, n, t, guarded ? s - rho : s + rho);
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
            row(i).view.s = row(i).s[0];
            this->conclude_row(row(i).x, row(i).k, row(i).view, next);
        }
        if (m_.guard.u) {
            for (Index i = 0; i < n; ++i)
                row(i).set_out(-row(i).rho);
            update(m_.guard, n, next);
        }
        follows_ &= m_.ready; // unless S was reset
        std::swap(row(0).x, row(n).x);
    }

    void update(const Factor<T>& s, Index n, const T* next) {
        if (alone_ || n < 4)
            update_rows(s, 0, n, next, [](Index) {}, [](Index) {});
        else
            update_together(s, n, next);
    }

    // Rows [first, last) through all columns, two groups at a time: while a row passes one of them, the divisions that the
    // next row needs for the other are under way. Before the groups up to g comes begin(g), after them end(g).
    template <class Begin, class End>
    void update_rows(const Factor<T>& s, Index first, Index last, const T* next, Begin&& begin, End&& end) {
        Row<0, T> at(s);
        for (Index g = 0, stop; g < at.groups; g = stop) {
            stop = std::min(g + 2, at.groups);
            begin(stop);
            for (Index c = g; c < stop; ++c)
                prepare_columns(s, at, row(first), c);
            for (Index i = first; i < last; ++i)
                for (Index c = g; c < stop; ++c) {
                    pass_columns(s, at, row(i), c, i + 1 < last ? row(i + 1).x : next);
                    if (i + 1 < last)
                        prepare_columns(s, at, row(i + 1), c);
                }
            end(stop);
        }
    }

    // The second half of the rows goes through the columns behind the first, on the other thread.
    void update_together(const Factor<T>& s, Index n, const T* next) {
        constexpr Index apart = 2; // groups, so that no cache line of D is of interest to both
        const Index middle = (n + 1) / 2, groups = (s.used + 3) / 4;
        Factor<T> behind = second_.factor;
        behind.u = s.u;
        behind.d = s.d;
        std::atomic<Index> passed{0};
        companion_.start([&] {
            Index copied = 0;
            const auto wait = [&](Index stop) {
                const Index least = std::min(stop + apart, groups);
                for (int spins = 0; passed.load(std::memory_order_acquire) < least; ++spins)
                    if (spins > 1000)
                        std::this_thread::yield();
                for (; copied < 4 * stop; ++copied)
                    behind.product[copied] = s.product[copied];
            };
            update_rows(behind, middle, n, next, wait, [](Index) {});
        });
        const auto tell = [&](Index stop) { passed.store(stop, std::memory_order_release); };
        update_rows(s, 0, middle, row(middle).x, [](Index) {}, tell);
        companion_.wait();
        std::copy(behind.product, behind.product + size_, s.product);
    }
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
