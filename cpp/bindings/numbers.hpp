// The numbers of a ticket's row. A short row needs no memory besides the ticket's own.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace driftline::bindings {

class Numbers {
  public:
    template <class T> void assign(const T* from, std::size_t count) {
        size_ = count;
        if (count > own_.size())
            long_.assign(from, from + count);
        else
            std::copy(from, from + count, own_.begin());
    }
    void append(std::span<const double> more) {
        std::vector<double> all(data(), data() + size_);
        all.insert(all.end(), more.begin(), more.end());
        assign(all.data(), all.size());
    }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const double* data() const { return size_ > own_.size() ? long_.data() : own_.data(); }
    double operator[](std::size_t j) const { return data()[j]; }

  private:
    std::array<double, 10> own_{};
    std::vector<double> long_;
    std::size_t size_ = 0;
};

} // namespace driftline::bindings
