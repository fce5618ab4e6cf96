// The points of a kernel learner, and an orthonormal basis of the functions that they span.
//
// Point i has the coordinates L_i0, ..., L_ii, so that L L' is the kernel matrix of the points: each point adds one
// direction to those before it. A row x has the coordinates z = L^-1 k(points, x) and a residual of squared length k(x, x) -
// |z|^2 outside the span. Points may be alike: `sliver`, relative to the diagonal, is added to it, which keeps L away from
// singular.
#pragma once

#include <algorithm>
#include <cmath>

#include "driftline/kernels/engine.hpp"
#include "driftline/base/range.hpp"
#include "driftline/base/storage.hpp"

namespace driftline {

inline constexpr double sliver = 1e-12;

class Dictionary {
  public:
    Dictionary(Index features, Index room) : features_(features) { make_room(room); }

    Index count() const { return count_; }
    Index room() const { return room_; }
    Index features() const { return features_; }
    const double* coordinates() const { return z_.data(); }
    double self() const { return self_; }
    double rest() const { return rest_; }
    // The length of the direction that the current row would add, including the sliver.
    double pivot() const { return std::sqrt(at_least(sliver * self_, self_ * (1 + sliver) - inside_)); }

    // False if the kernel has no finite value, or its values cannot be inner products.
    bool look(const KernelFunction& kernel, const double* x) {
        const KernelEngine& engine = kernel_engine();
        self_ = engine.self_similarity(kernel, x, features_);
        if (!(self_ >= 0 && self_ <= largest_similarity))
            return false;
        double* z = z_.data();
        engine.similarities(kernel, table(), x, point_.data(), z);
        for (Index i = 0; i < count_; ++i)
            if (!(std::fabs(z[i]) <= largest_similarity))
                return false;
        engine.solve(triangle_.data(), z, count_);
        inside_ = 0;
        for (Index i = 0; i < count_; ++i)
            inside_ += z[i] * z[i];
        rest_ = at_least(0, self_ - inside_);
        return inside_ <= 1.0001 * self_;
    }

    // Adds the row that was looked at as a point.
    void add(const double* x) {
        const double length = pivot();
        double* last = triangle_.data() + count_ * (count_ + 1) / 2;
        std::copy_n(z_.data(), count_, last);
        last[count_] = length;
        for (Index j = 0; j < features_; ++j)
            points_.data()[j * room_ + count_] = x[j];
        if (tracks_)
            track_newcomer(length);
        ++count_;
    }

    // Tracks how much recent rows use each point, as a fading mean. A row counts with its coordinates in the points before
    // it, even if it becomes a point itself. Otherwise points far from all rows would keep their rank while every row is
    // new.
    void track(double memory) {
        tracks_ = true;
        forget_ = 1 / memory;
    }
    void note_use() {
        double* a = z_.data();
        kernel_engine().solve_transposed(triangle_.data(), a, count_);
        for (Index i = 0; i < count_; ++i)
            use_.data()[i] += forget_ * (a[i] * a[i] - use_.data()[i]);
    }

    // The point whose removal would change predictions least on recent rows. `last_weight` is the weight of the first
    // point's coordinate, which comes last.
    Index least_useful(const double* last_weight) {
        double* alpha = z_.data();
        for (Index i = 0; i < count_; ++i)
            alpha[i] = last_weight[-i];
        kernel_engine().solve_transposed(triangle_.data(), alpha, count_);
        Index least = 0;
        double lowest = HUGE_VAL;
        for (Index i = 0; i < count_; ++i) {
            const double change = alpha[i] / inverse_.data()[i], loss = change * change * use_.data()[i];
            if (loss < lowest) {
                lowest = loss;
                least = i;
            }
        }
        return least;
    }

    // Removes a point; returns the rotations after which the remaining points have no component along the last coordinate.
    const Rotation* remove(Index which) {
        if (tracks_)
            untrack(which);
        for (Index r = which + 1; r < count_; ++r)
            move_row(r, which);
        for (Index j = 0; j < features_; ++j) {
            double* column = points_.data() + j * room_;
            std::copy(column + which + 1, column + count_, column + which);
        }
        --count_;
        removals_ += 1;
        if (tracks_ && removals_ >= static_cast<double>(room_)) {
            removals_ = 0;
            measure_inverse();
        }
        return rotations_.data();
    }

    void make_room(Index room) {
        Aligned<double> points(features_ * room), triangle(room * (room + 1) / 2), use(room), inverse(room);
        for (Index j = 0; j < features_; ++j)
            std::copy_n(points_.data() + j * room_, count_, points.data() + j * room);
        std::copy_n(triangle_.data(), count_ * (count_ + 1) / 2, triangle.data());
        std::copy_n(use_.data(), count_, use.data());
        std::copy_n(inverse_.data(), count_, inverse.data());
        points_ = std::move(points);
        triangle_ = std::move(triangle);
        use_ = std::move(use);
        inverse_ = std::move(inverse);
        z_ = Aligned<double>(room);
        point_ = Aligned<double>(features_);
        rotations_ = Aligned<Rotation>(room);
        room_ = room;
    }
    // Adds features, which are 0 for every point.
    void widen(Index more) {
        Aligned<double> points((features_ + more) * room_);
        std::copy_n(points_.data(), features_ * room_, points.data());
        points_ = std::move(points);
        features_ += more;
        point_ = Aligned<double>(features_);
    }

    // Makes room for points before the numbers of a state are read.
    void expect(Index count) { count_ = count; }
    // Calls act with the arrays that make up the state.
    template <class Act> void visit(Act&& act) {
        for (Index j = 0; j < features_; ++j)
            act(points_.data() + j * room_, count_);
        act(triangle_.data(), count_ * (count_ + 1) / 2);
        if (tracks_) {
            act(use_.data(), count_);
            act(inverse_.data(), count_);
            act(&removals_, 1);
        }
    }
    // Whether tracking can lead to these numbers.
    bool is_sound() const {
        bool good = removals_ >= 0 && removals_ < static_cast<double>(room_);
        for (Index i = 0; tracks_ && i < count_; ++i)
            good = good && use_.data()[i] >= 0 && inverse_.data()[i] > 0;
        return good;
    }
    PointTable table() const { return {points_.data(), count_, features_, room_}; }
    const double* triangle() const { return triangle_.data(); }

  private:
    static constexpr double largest_similarity = 1e150; // its square stays in range

    // Row r of L becomes row r - 1, after the rotations of the rows before it and one of its own.
    void move_row(Index r, Index which) {
        double* row = triangle_.data() + r * (r + 1) / 2;
        for (Index j = which; j + 1 < r; ++j) {
            const Rotation& turn = rotations_.data()[j - which];
            const double before = row[j];
            row[j] = turn.c * before + turn.s * row[j + 1];
            row[j + 1] = turn.c * row[j + 1] - turn.s * before;
        }
        const double length = std::hypot(row[r - 1], row[r]);
        rotations_.data()[r - 1 - which] = {row[r - 1] / length, row[r] / length};
        row[r - 1] = length;
        std::copy_n(row, r, triangle_.data() + (r - 1) * r / 2);
    }

    // The diagonal of the inverse of L L'.
    void track_newcomer(double length) {
        double* a = z_.data();
        kernel_engine().solve_transposed(triangle_.data(), a, count_);
        const double inverse = 1 / (length * length);
        double total = 0;
        for (Index i = 0; i < count_; ++i) {
            inverse_.data()[i] += a[i] * a[i] * inverse;
            use_.data()[i] += forget_ * (a[i] * a[i] - use_.data()[i]);
            total += use_.data()[i];
        }
        inverse_.data()[count_] = inverse;
        use_.data()[count_] = count_ > 0 ? total / static_cast<double>(count_) : 1; // used as much as an average point
    }
    void untrack(Index which) {
        double* g = z_.data();
        inverse_column(which, g);
        const double own = at_least(DBL_MIN, g[which]);
        for (Index i = 0; i < count_; ++i)
            inverse_.data()[i] = at_least(least_inverse(i), inverse_.data()[i] - g[i] * (g[i] / own));
        std::copy(inverse_.data() + which + 1, inverse_.data() + count_, inverse_.data() + which);
        std::copy(use_.data() + which + 1, use_.data() + count_, use_.data() + which);
    }
    void inverse_column(Index which, double* g) {
        std::fill_n(g, count_, 0.0);
        g[which] = 1;
        kernel_engine().solve(triangle_.data(), g, count_);
        kernel_engine().solve_transposed(triangle_.data(), g, count_);
    }
    void measure_inverse() {
        for (Index i = 0; i < count_; ++i) {
            inverse_column(i, z_.data());
            inverse_.data()[i] = at_least(least_inverse(i), z_.data()[i]);
        }
    }
    // 1 / k(x, x), the value for a point orthogonal to the others.
    double least_inverse(Index i) const {
        const double* row = triangle_.data() + i * (i + 1) / 2;
        double norm2 = 0;
        for (Index j = 0; j <= i; ++j)
            norm2 += row[j] * row[j];
        return 1 / norm2;
    }

    Index features_, room_ = 0, count_ = 0;
    bool tracks_ = false;
    double removals_ = 0; // removals since the inverse was last computed
    double forget_ = 0, self_ = 0, inside_ = 0, rest_ = 0;
    Aligned<double> points_, triangle_, use_, inverse_, z_, point_;
    Aligned<Rotation> rotations_;
};

} // namespace driftline
