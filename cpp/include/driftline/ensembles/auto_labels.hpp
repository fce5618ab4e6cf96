// Statistics of all labels so far, used to bound predictions and to recognise outliers.
#pragma once

#include <cfloat>
#include <cmath>
#include <vector>

#include "driftline/base/range.hpp"

namespace driftline {

inline constexpr Index warm_rows = 64;

struct LabelMemory {
    double last = 0, rows = 0, mean = 0, low = 0, high = 0;
    double peak = 0;               // largest distance of a label from the mean; it decays
    double held = 0;               // 1 if the last label was an outlier and was replaced
    double outlier = 0, usual = 0; // the last outlier, and the mean before it

    void add(double y) {
        take(y);
        held = 0;
    }
    // Remembers an outlier. The expected value takes its place among the labels.
    void add_outlier(double y, double expected) {
        outlier = y;
        usual = mean;
        reach_out(y);
        take(expected);
        held = 1;
    }
    // Whether the label after an outlier lies where the outlier does.
    bool confirms(double y) const { return held == 1 && std::fabs(y - outlier) < std::fabs(y - usual); }
    void reinstate() {
        mean += outlier / rows - last / rows;
        last = outlier;
        low = at_most(low, outlier);
        high = at_least(high, outlier);
    }
    void reach_out(double y) {
        constexpr double keep = 0.999;
        peak = at_most(at_least(keep * peak, rows > 0 ? std::fabs(y - mean) : 0), DBL_MAX);
    }
    // Whether y is farther from the mean than recent labels. After a jump of the target only the first label counts as
    // unusual: two in succession never do, and the peak has followed by then.
    bool unusual(double y) const {
        constexpr double times = 2;
        return rows >= warm_rows && held == 0 && peak > 0 && std::fabs(y - mean) > times * peak;
    }
    // Whether any prediction came near y, a label far from the mean.
    bool foreseen(double y, const std::vector<double>& predictions) const {
        const double near = 0.5 * std::fabs(y - mean);
        for (const double value : predictions)
            if (std::fabs(y - value) < near)
                return true;
        return false;
    }
    // Clamps predictions to the range of the labels so far, widened by half its width.
    void cut_off(std::vector<double>& predictions) const {
        double least = low, most = high;
        if (rows < 2) {
            least = at_most(least, 0);
            most = at_least(most, 0);
        }
        double reach = 0.5 * most - 0.5 * least;
        if (rows == 2) // two labels may be close by chance
            reach = at_least(reach, at_most(4 * reach, at_least(std::fabs(least), std::fabs(most))));
        least = saturate(least - reach, DBL_MAX);
        most = saturate(most + reach, DBL_MAX);
        for (double& value : predictions)
            value = rows > 0 ? at_most(at_least(least, value), most) : 0;
    }

  private:
    void take(double y) {
        reach_out(y);
        last = y;
        rows += 1;
        mean += y / rows - mean / rows;
        low = rows == 1 ? y : at_most(low, y);
        high = rows == 1 ? y : at_least(high, y);
    }
};

} // namespace driftline
