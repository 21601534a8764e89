// Matrices stored row by row: a view of somebody's memory, and one that owns it. `stride` is how many elements lie
// between the starts of two rows; how many of them count is for the user to know (rows are padded for the kernels).
#pragma once

#include "buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace amclust {

template <class T>
struct MatrixView {
  T* data = nullptr;
  int rows = 0;
  std::ptrdiff_t stride = 0;

  MatrixView() = default;
  MatrixView(T* data_, int rows_, std::ptrdiff_t stride_) : data(data_), rows(rows_), stride(stride_) {}
  // What may be changed may be read.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  MatrixView(const MatrixView<U>& other) : data(other.data), rows(other.rows), stride(other.stride) {}

  explicit operator bool() const { return data != nullptr; }
  T* row(int i) const { return data + i * stride; }
  T& operator()(int i, int j) const { return data[i * stride + j]; }
  // Rows first ... first + n - 1.
  MatrixView block(int first, int n) const { return {row(first), n, stride}; }
};

// Of floats, aligned for the kernels, zero at birth.
class Matrix {
 public:
  Matrix() = default;
  Matrix(int rows, int stride) { resize(rows, stride); }

  // Discards the contents unless the size stays the same.
  void resize(int rows, int stride) {
    buffer_.resize(static_cast<std::size_t>(rows) * stride);
    view_ = {buffer_.data(), rows, stride};
  }
  // The same, but keeps the memory where it suffices: for shapes that change from call to call.
  void fit(int rows, int stride) {
    const std::size_t size = static_cast<std::size_t>(rows) * stride;
    if (buffer_.size() < size) buffer_.resize(size);
    view_ = {buffer_.data(), rows, stride};
  }
  void zero() { buffer_.zero(); }

  int rows() const { return view_.rows; }
  std::ptrdiff_t stride() const { return view_.stride; }
  float* data() { return view_.data; }
  const float* data() const { return view_.data; }
  float* row(int i) { return view_.row(i); }
  const float* row(int i) const { return view_.row(i); }
  float& operator()(int i, int j) { return view_(i, j); }
  float operator()(int i, int j) const { return view_(i, j); }
  MatrixView<float> block(int first, int n) { return view_.block(first, n); }
  MatrixView<const float> block(int first, int n) const { return view().block(first, n); }
  MatrixView<float> view() { return view_; }
  MatrixView<const float> view() const { return view_; }
  operator MatrixView<float>() { return view_; }
  operator MatrixView<const float>() const { return view_; }

 private:
  Buffer buffer_;
  MatrixView<float> view_;
};

// Which values of some rows are missing, 1 where they are; no rows where nothing is ever missing.
class MissingMarks {
 public:
  void fit(int rows, int features) {
    const std::size_t size = static_cast<std::size_t>(rows) * features;
    if (marks_.size() < size) marks_.resize(size);
    features_ = features;
  }
  std::uint8_t* data() { return marks_.data(); }
  // Null where nothing is ever missing.
  std::uint8_t* row(int i) { return marks_.empty() ? nullptr : view().row(i); }
  MatrixView<std::uint8_t> view() {
    return {marks_.data(), features_ ? static_cast<int>(marks_.size()) / features_ : 0, features_};
  }

 private:
  std::vector<std::uint8_t> marks_;
  int features_ = 0;
};

}  // namespace amclust
