// Recursive least squares with piecewise constant units.
//
// Columns are centred and scaled by statistics of the rows so far, adopted each time the number of rows reaches a power
// of two. The weights and S are converted exactly: with z = (x - centre) / size, new units are z' = (z - shift) / factor,
// hence w' = A w and S' = A S A' with A = [1 shift'; 0 diag(factor)], the constant coming first. A is upper triangular,
// so S' = U' D' U'' has U' = A U diag(1, factor)^-1. Units that changed with every row would change the meaning of the
// weights each time.
#pragma once

#include <bit>
#include <memory>
#include <vector>

#include "driftline/linear/second_order_model.hpp"

namespace driftline {

class Regression {
  public:
    static constexpr Index first_units = 8; // rows before the first units are adopted and learning begins

    Regression(Index columns, double forgetting, double ridge)
        : columns_(columns), units_(columns),
          model_(std::make_unique<SecondOrderModel<double>>(columns + 1, false, policy(forgetting, ridge))) {
        model_->follow_no_coverage();
    }

    Index columns() const { return columns_; }
    bool ready() const { return rows_ > first_units; }
    double predict(const double* row) {
        show(row);
        double value = 0;
        engine<double>().predict(model_->state, value, nullptr);
        return saturate(value, largest);
    }
    void learn(const double* row, double y, double weight) {
        for (Index j = 0; j < columns_; ++j)
            observe(units_[j], saturate(row[j], largest));
        rows_ += 1;
        if (rows_ >= first_units && std::has_single_bit(static_cast<std::size_t>(rows_)))
            take_units_over();
        if (rows_ < first_units)
            return;
        show(row);
        double ignored = 0;
        engine<double>().learn(model_->state, saturate(y, largest), weight, ignored);
    }

    // Inserts new columns at position `at`.
    void grow(Index more, Index at) {
        model_ = model_->grown(more, at + 1, model_->state.policy.start);
        units_.insert(units_.begin() + at, static_cast<std::size_t>(more), Column{});
        columns_ += more;
    }

    template <class Act> void visit(Act&& act) {
        act(&rows_, 1);
        act(reinterpret_cast<double*>(units_.data()), 4 * columns_);
        act(reinterpret_cast<double*>(&model_->state.sums), untimed_sums_count);
        act(model_->diagonal().data(), model_->diagonal().size());
        act(model_->state.w, model_->state.d);
        act(model_->matrix().data(), model_->matrix().size());
    }
    SecondOrderModel<double>& model() { return *model_; }
    double rows() const { return rows_; }

  private:
    static constexpr double largest = 1e150, farthest = 1e3, most_change = 1e6;
    struct Column {
        double centre = 0, size = 0;  // in use; size 0: constant so far
        double mean = 0, squares = 0; // over all rows: the mean and the sum of squared deviations from it
    };
    static Policy policy(double forgetting, double ridge) {
        Policy out;
        out.start = 1 / ridge;
        out.time = Time::divide;
        out.amount = forgetting;
        return out;
    }
    // Values are clamped to `farthest` sizes from the centre, so a single outlier cannot distort the unit.
    void observe(Column& unit, double value) const {
        if (unit.size > 0) {
            const double reach = farthest * unit.size;
            value = at_most(at_least(unit.centre - reach, value), unit.centre + reach);
        } else if (rows_ >= first_units && value != unit.centre) {
            unit.size = std::fabs(value - unit.centre); // the model saw it as 0 until now
        }
        const double away = value - unit.mean;
        unit.mean += away / (rows_ + 1);
        unit.squares += away * (value - unit.mean);
    }
    void show(const double* row) {
        double* x = model_->state.x;
        x[0] = 1;
        for (Index j = 0; j < columns_; ++j) {
            const Column& unit = units_[j];
            x[j + 1] = unit.size > 0 ? saturate((saturate(row[j], largest) - unit.centre) / unit.size, 1e6) : 0;
        }
        model_->state.ready = false;
    }
    void take_units_over() {
        restart_where_broken(model_->state);
        std::vector<double> shift(static_cast<std::size_t>(columns_ + 1)), factor(shift.size(), 1.0);
        for (Index j = 0; j < columns_; ++j) {
            Column& unit = units_[j];
            const double size = std::sqrt(unit.squares / rows_);
            const bool varies = size > 1e-12 * std::fabs(unit.mean);
            if (unit.size > 0 && varies) {
                factor[j + 1] = at_most(at_least(1 / most_change, size / unit.size), most_change);
                shift[j + 1] = saturate((unit.mean - unit.centre) / unit.size, most_change);
                unit.centre += shift[j + 1] * unit.size;
                unit.size *= factor[j + 1];
            } else if (unit.size == 0) {
                unit.centre = unit.mean;
                unit.size = varies ? size : 0;
            }
        }
        carry_over(shift.data(), factor.data());
    }
    void carry_over(const double* shift, const double* factor) {
        SecondOrderState<double>& state = model_->state;
        double* u = model_->matrix().data();
        for (Index j = 1; j < state.d; ++j) {
            state.w[0] += shift[j] * state.w[j];
            state.w[j] *= factor[j];
        }
        for (Index j = 1; j < state.d; ++j) {
            double first = u[panel_index<double>(0, j)];
            for (Index i = 1; i <= j; ++i)
                first += shift[i] * u[panel_index<double>(i, j)];
            u[panel_index<double>(0, j)] = first / factor[j];
            for (Index i = 1; i < j; ++i)
                u[panel_index<double>(i, j)] *= factor[i] / factor[j];
            const double variance = state.factor.d[j] * factor[j] * factor[j];
            state.factor.d[j] = at_most(at_least(smallest_variance, variance), variance_cap<double>);
        }
        state.ready = false;
    }

    Index columns_;
    double rows_ = 0;
    std::vector<Column> units_;
    std::unique_ptr<SecondOrderModel<double>> model_;
};

} // namespace driftline
