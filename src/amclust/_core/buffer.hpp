// Floats aligned for the widest vectors, zero at birth.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace amclust {

constexpr std::size_t kAlignment = 64;

class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) { resize(size); }

  // Discards the contents unless the size stays the same.
  void resize(std::size_t size) {
    if (size == size_) return;
    data_.reset(static_cast<float*>(::operator new[](size * sizeof(float) + kAlignment, std::align_val_t{kAlignment})));
    size_ = size;
    zero();
  }
  void zero() {
    if (size_) std::memset(data_.get(), 0, size_ * sizeof(float));
  }
  void copy_from(const Buffer& other) {
    resize(other.size_);
    if (size_) std::memcpy(data_.get(), other.data_.get(), size_ * sizeof(float));
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  float& operator[](std::size_t i) { return data_.get()[i]; }
  float operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(float* p) const { ::operator delete[](p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float, Free> data_;
  std::size_t size_ = 0;
};

inline int padded(int size, int lanes) { return (size + lanes - 1) / lanes * lanes; }

}  // namespace amclust
