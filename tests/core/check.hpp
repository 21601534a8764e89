// Checks that go on after a failure, say where they are and what they saw, and decide main's return value.
#pragma once

#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>

namespace check {

inline int& failures() {
  static int count = 0;
  return count;
}

inline int& performed() {
  static int count = 0;
  return count;
}

// What is being tested, shown with a failure.
inline std::string& context() {
  static std::string text;
  return text;
}

template <class... Parts>
void describe(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  context() = out.str();
}

inline void report(bool passed, const char* file, int line, const char* text, const std::string& seen = "") {
  ++performed();
  if (passed) return;
  if (++failures() > 20) return;  // enough to see what is wrong
  std::fprintf(stderr, "%s:%d: %s%s%s%s%s\n", file, line, text, seen.empty() ? "" : ", ", seen.c_str(),
               context().empty() ? "" : "  in: ", context().c_str());
}

template <class A, class B>
std::string both(const A& a, const B& b) {
  std::ostringstream out;
  out.precision(9);
  out << "got " << a << ", expected " << b;
  return out.str();
}

// A test without a single check is broken.
inline int finish() {
  if (failures()) std::fprintf(stderr, "%d of %d checks failed\n", failures(), performed());
  return failures() || !performed() ? 1 : 0;
}

}  // namespace check

#define CHECK(condition) ::check::report(static_cast<bool>(condition), __FILE__, __LINE__, #condition)

#define CHECK_EQUAL(found, expected)                                                                    \
  do {                                                                                                  \
    const auto found_ = (found);                                                                        \
    const auto expected_ = (expected);                                                                  \
    ::check::report(found_ == expected_, __FILE__, __LINE__, #found, ::check::both(found_, expected_)); \
  } while (false)

// NaN is near nothing.
#define CHECK_NEAR(found, expected, tolerance)                                               \
  do {                                                                                       \
    const double found_ = (found);                                                           \
    const double expected_ = (expected);                                                     \
    ::check::report(std::abs(found_ - expected_) <= (tolerance), __FILE__, __LINE__, #found, \
                    ::check::both(found_, expected_));                                       \
  } while (false)

#define CHECK_THROWS(type, statement)                                          \
  do {                                                                         \
    bool thrown_ = false;                                                      \
    try {                                                                      \
      statement;                                                               \
    } catch (const type&) {                                                    \
      thrown_ = true;                                                          \
    }                                                                          \
    ::check::report(thrown_, __FILE__, __LINE__, #statement " throws " #type); \
  } while (false)
