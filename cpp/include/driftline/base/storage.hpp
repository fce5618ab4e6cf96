// Memory for models: aligned, zeroed, sized once.
#pragma once

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "driftline/base/simd.hpp"

namespace driftline {

template <class T> class Aligned {
  public:
    Aligned() = default;
    explicit Aligned(Index n) : size_(n) {
        const std::size_t bytes = static_cast<std::size_t>(round_up(n * static_cast<Index>(sizeof(T)) + 1, 64));
        data_ = static_cast<T*>(std::aligned_alloc(64, bytes));
        if (!data_)
            throw std::bad_alloc();
        std::memset(static_cast<void*>(data_), 0, bytes);
    }
    Aligned(Aligned&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Aligned& operator=(Aligned&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~Aligned() { std::free(data_); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    Index size() const { return size_; }

  private:
    T* data_ = nullptr;
    Index size_ = 0;
};

} // namespace driftline
