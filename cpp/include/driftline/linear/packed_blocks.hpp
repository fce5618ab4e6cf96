// Blocks of rows through a packed S.
//
// With S before the block, row t = 0, 1, ... of it has, drift q being added before every row,
//     k_t = (S + (t + 1) q I) x_t - sum over i < t of p_i (p_i . x_t),     p_i = k_i / sqrt(rho_i + s_i),
// and S after n rows is S + n q I - sum of p_i p_i'. So S x is needed for all rows of a block at once, and is formed in the
// walk that takes in the block before. A block ends before a row for which the sum would cost too many digits.
//
// The columns are in two parts, whose products are summed apart, so that it does not matter whether one thread or two
// walk them.
#pragma once

#include "driftline/linear/blocks.hpp"

namespace driftline {
inline namespace DRIFTLINE_ISA {

// Some vectors of one size.
template <class T> struct Vectors {
    T* first;
    Index size;
    T* operator[](Index i) const { return first + i * size; }
};

// Columns 4 g .. 4 g + 3.
template <class T> struct FourColumns {
    Index first, above, rows; // the first column; rows before the square on the diagonal; all rows
    T* s[4];
    FourColumns(const Packed<T>& m, Index g)
        : first(4 * g), above(first / panel_width<T> * panel_width<T>), rows(above + panel_width<T>) {
        s[0] = m.s + panel_index<T>(0, first);
        for (int j = 1; j < 4; ++j)
            s[j] = s[j - 1] + rows;
    }
};

// Rows [from, to) of the columns: subtracts p p' for an even number of vectors p, two at a time.
template <class T>
DRIFTLINE_ONCE void subtract_squares(const FourColumns<T>& at, Index from, Index to, Vectors<T> parts, Index count) {
    T *const s0 = at.s[0], *const s1 = at.s[1], *const s2 = at.s[2], *const s3 = at.s[3];
    for (Index t = 0; t < count; t += 2) {
        const T *const p = parts[t], *const q = parts[t + 1], *const g = p + at.first, *const h = q + at.first;
        const Wide<T> g0 = all<T>(g[0]), g1 = all<T>(g[1]), g2 = all<T>(g[2]), g3 = all<T>(g[3]);
        const Wide<T> h0 = all<T>(h[0]), h1 = all<T>(h[1]), h2 = all<T>(h[2]), h3 = all<T>(h[3]);
        for (Index i = from; i < to; i += lanes<T>) {
            const Wide<T> a = wide(p + i), b = wide(q + i);
            store(s0 + i, wide(s0 + i) - g0 * a - h0 * b);
            store(s1 + i, wide(s1 + i) - g1 * a - h1 * b);
            store(s2 + i, wide(s2 + i) - g2 * a - h2 * b);
            store(s3 + i, wide(s3 + i) - g3 * a - h3 * b);
        }
    }
}

// Rows [from, to) of the columns: adds their share of S x to the products.
template <class T>
DRIFTLINE_ONCE void add_products(const FourColumns<T>& at, Index from, Index to, Vectors<T> x, Vectors<T> products,
                                 Index count) {
    const T *const s0 = at.s[0], *const s1 = at.s[1], *const s2 = at.s[2], *const s3 = at.s[3];
    const Index middle = std::min(to, at.above);
    for (Index t = 0; t < count; ++t) {
        const T *const z = x[t], *const n = z + at.first;
        T* const product = products[t];
        const Wide<T> n0 = all<T>(n[0]), n1 = all<T>(n[1]), n2 = all<T>(n[2]), n3 = all<T>(n[3]);
        Wide<T> t0 = {}, t1 = {}, t2 = {}, t3 = {};
        Index i = from;
        for (; i < middle; i += lanes<T>) {
            const Wide<T> a = wide(s0 + i), b = wide(s1 + i), c = wide(s2 + i), e = wide(s3 + i), zi = wide(z + i);
            t0 += a * zi, t1 += b * zi, t2 += c * zi, t3 += e * zi;
            store(product + i, wide(product + i) + n0 * a + n1 * b + n2 * c + n3 * e);
        }
        for (; i < to; i += lanes<T>) { // the square has all of itself
            const Wide<T> zi = wide(z + i);
            t0 += wide(s0 + i) * zi, t1 += wide(s1 + i) * zi, t2 += wide(s2 + i) * zi, t3 += wide(s3 + i) * zi;
        }
        alignas(32) T sums[4];
        store_sums(sums, t0, t1, t2, t3);
        for (Index j = 0; j < 4; ++j)
            product[at.first + j] += sums[j];
    }
}

template <class T> class PackedBlocks : public BlockReplay<T> {
  public:
    PackedBlocks(SecondOrderState<T>& m, const Batch& batch, Outputs& out, bool two_threads)
        : BlockReplay<T>(m, batch, out, two_threads, most_, 64), numbers_(6 * size_ * (capacity_ + 1)),
          views_(static_cast<std::size_t>(capacity_)), noises_(views_.size()) {
        Vectors<T>* const all[] = {&x_, &k_, &parts_, &coming_, &products_, &others_};
        T* at = numbers_.data();
        for (Vectors<T>* vectors : all) {
            *vectors = {at, size_};
            at += size_ * (capacity_ + 1);
        }
    }

    static bool suits(const SecondOrderState<T>& m) {
        return m.additive && m.policy.radius == 0 && m.policy.reset != Reset::below;
    }

  private:
    using BlockReplay<T>::m_, BlockReplay<T>::batch_, BlockReplay<T>::out_, BlockReplay<T>::reader_, BlockReplay<T>::extras_,
        BlockReplay<T>::size_, BlockReplay<T>::companion_, BlockReplay<T>::alone_, BlockReplay<T>::capacity_;

    static constexpr Index most_ = 16, least_ = 4; // rows of a block
    // What s may lose to the sum.
    static constexpr double least_left = sizeof(T) == 8 ? 1e-6 : 1e-2;

    Aligned<T> numbers_;
    Vectors<T> x_, k_, parts_;              // of the rows of the block
    Vectors<T> coming_, products_, others_; // rows that come next, and S times them by the two parts of the columns
    std::vector<View> views_;
    std::vector<double> noises_;
    Index ready_ = 0; // of the rows that come next, so many have their products

    void forget_products() override { ready_ = 0; }

    bool learn_block() override {
        if (ready_ == 0) {
            View view;
            read_coming(0);
            if (ready_ < least_ || !this->look_ahead(coming_[0], 0, view) || is_weak_at(coming_[0], view, usual_noise()))
                return false;
            walk(0);
        }
        std::swap(x_, coming_);
        std::swap(k_, products_);
        Index n = 0;
        while (n < ready_ && form_part(n))
            ++n;
        if (n == 0)
            return false;
        read_coming(n);
        walk(n);
        m_.ready = true;
        for (Index i = 0; i < n; ++i)
            this->conclude_row(x_[i], k_[i], views_[static_cast<std::size_t>(i)], noises_[static_cast<std::size_t>(i)],
                               x_[i]);
        if (!m_.ready) // S was mended, or reset
            ready_ = 0;
        return true;
    }

    // The rows of the block that begins so many rows later, as far as they can be told without S; none where they are few.
    void read_coming(Index later) {
        const Index most = this->most_rows(later);
        View view;
        for (ready_ = 0; ready_ < most; ++ready_) {
            reader_.take(coming_[ready_], out_.done + later + ready_);
            if (!this->look_ahead(coming_[ready_], later + ready_, view))
                break;
        }
        if (ready_ < least_)
            ready_ = 0;
    }

    // k and p of row t, whose S x is in k; false where it has to be learned by itself.
    bool form_part(Index t) {
        View& view = views_[static_cast<std::size_t>(t)];
        T *const x = x_[t], *const k = k_[t];
        if (!this->look_ahead(x, t, view))
            return false;
        add_scaled(k, k, x, static_cast<T>(static_cast<double>(t + 1) * view.drift), size_);
        const double whole = dot(x, k, size_);
        for (Index i = 0; i < t; ++i)
            add_scaled(k, k, parts_[i], static_cast<T>(-dot(parts_[i], x, size_)), size_);
        view.s = dot(x, k, size_);
        double& rho = noises_[static_cast<std::size_t>(t)];
        if (!(view.s >= 0.5 * view.drift * view.norm2 && view.s <= largest_s<T> &&
              (t == 0 || view.s >= least_left * whole)) ||
            find_noise(m_, view, extras_, weight_of(batch_, out_.done + t), rho) != Status::done || is_weak_at(x, view, rho))
            return false;
        const T scale = static_cast<T>(1 / std::sqrt(rho + view.s));
        for (Index i = 0; i < size_; i += lanes<T>)
            store(parts_[t] + i, scale * wide(k + i));
        return true;
    }
    double usual_noise() const { return m_.policy.complement ? 1 : m_.policy.noise; }
    bool is_weak_at(T* x, const View& view, double rho) {
        std::swap(m_.x, x);
        const bool weak = weakness_of(m_, view, rho).lift;
        std::swap(m_.x, x);
        return weak;
    }

    // Takes n rows in, and forms the products of those that come next.
    void walk(Index n) {
        std::fill(products_[0], products_[ready_], T(0));
        std::fill(others_[0], others_[ready_], T(0));
        std::fill(parts_[n], parts_[n + 1], T(0)); // to make their number even
        const Index groups = size_ / 4;
        const Index middle = static_cast<Index>(std::sqrt(0.5) * static_cast<double>(groups)); // half of the work
        const auto others = [&] { walk_columns(middle, groups, n, others_); };
        if (alone_)
            others();
        else
            companion_.start(others);
        walk_columns(0, middle, n, products_);
        companion_.wait();
        for (Index i = 0; i < ready_; ++i)
            add_scaled(products_[i], products_[i], others_[i], T(1), size_);
        for (Index j = m_.d; j < size_; ++j)
            m_.packed.s[panel_index<T>(j, j)] = 1;
    }
    // Groups of four columns [from, to), some of them and some of their rows at a time, so that these, and what belongs to
    // them of all vectors, stay in the nearest cache.
    void walk_columns(Index from, Index to, Index n, Vectors<T> products) {
        constexpr Index columns_at_once = 8, rows_at_once = 2048 / static_cast<Index>(sizeof(T));
        const T lift = static_cast<T>(static_cast<double>(n) * m_.policy.amount);
        for (Index g = from; g < to; g += columns_at_once / 4) {
            const Index stop = std::min(g + columns_at_once / 4, to);
            for (Index i = 0; i < FourColumns<T>(m_.packed, stop - 1).rows; i += rows_at_once)
                for (Index c = g; c < stop; ++c) {
                    const FourColumns<T> at(m_.packed, c);
                    const Index end = std::min(i + rows_at_once, at.rows);
                    if (i >= end)
                        continue;
                    subtract_squares(at, i, end, parts_, n);
                    for (Index j = 0; j < 4 && i <= at.first && at.first < end; ++j)
                        at.s[j][at.first + j] += lift;
                    add_products(at, i, end, coming_, products, ready_);
                }
        }
    }
};

} // namespace DRIFTLINE_ISA
} // namespace driftline
