// Zero-initialised memory, committed on first write, that can grow without being copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#ifdef __linux__
#include <sys/mman.h>
#endif

#include "driftline/base/simd.hpp"

namespace driftline {

// Keys come in any order, so huge pages are requested: with small pages almost every row would miss the TLB.
class LazyZeros {
  public:
    explicit LazyZeros(std::size_t bytes) : size_(whole(bytes)), data_(take(size_)) {}
    LazyZeros(const LazyZeros&) = delete;
    ~LazyZeros() { give_back(data_, size_); }

    std::byte* data() const { return data_; }

    // Zeroes everything from `place` on. Whole pages are returned to the system.
    void clear_from(std::size_t place) {
        if (place >= size_)
            return;
        const std::size_t page = 4096, pages = (place + page - 1) / page * page;
#ifdef __linux__
        std::memset(data_ + place, 0, pages - place);
        if (pages < size_)
            madvise(data_ + pages, size_ - pages, MADV_DONTNEED);
#else
        std::memset(data_ + place, 0, size_ - place);
#endif
    }

    // Grows to `bytes`. The contents are kept but may move. If memory runs out, throws and changes nothing.
    void grow(std::size_t bytes) {
        bytes = whole(bytes);
        if (bytes <= size_)
            return;
        std::byte* const fresh = take(bytes);
        if (!move(fresh, bytes)) {
            give_back(fresh, bytes);
            throw std::bad_alloc();
        }
        data_ = fresh;
        size_ = bytes;
    }

  private:
    static constexpr std::size_t large = std::size_t(1) << 21;

    static std::size_t whole(std::size_t bytes) {
        if (bytes > SIZE_MAX / 2)
            throw std::bad_alloc();
        return (bytes / large + 1) * large;
    }

#ifdef __linux__
    // Aligns the block to a huge page: maps one huge page more than needed and unmaps both ends.
    static std::byte* take(std::size_t bytes) {
        void* const all = mmap(nullptr, bytes + large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (all == MAP_FAILED)
            throw std::bad_alloc();
        std::byte* const begin = static_cast<std::byte*>(all);
        const std::size_t before = (large - reinterpret_cast<std::uintptr_t>(all) % large) % large;
        if (before)
            munmap(begin, before);
        munmap(begin + before + bytes, large - before);
        advise(begin + before, bytes);
        return begin + before;
    }
    static void advise(std::byte* from, std::size_t bytes) {
        if (bytes > large) // small fleets do without huge pages
            madvise(from, bytes, MADV_HUGEPAGE);
    }
    static void give_back(std::byte* from, std::size_t bytes) { munmap(from, bytes); }
    bool move(std::byte* to, std::size_t bytes) {
        if (mremap(data_, size_, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
            return false;
        advise(to, bytes);
        return true;
    }
#else
    static std::byte* take(std::size_t bytes) {
        void* const all = std::aligned_alloc(4096, bytes);
        if (!all)
            throw std::bad_alloc();
        std::memset(all, 0, bytes);
        return static_cast<std::byte*>(all);
    }
    static void give_back(std::byte* from, std::size_t) { std::free(from); }
    bool move(std::byte* to, std::size_t) {
        std::memcpy(to, data_, size_);
        give_back(data_, size_);
        return true;
    }
#endif

    std::size_t size_;
    std::byte* data_;
};

} // namespace driftline
