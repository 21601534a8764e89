// What draws a state to the memories. An energy of this library is a log-sum-exp of inner products,
//
//     E(x) = own(x) - 1/beta log sum_m exp(bias_m + factor x.rho_m),
//
// and is written as a policy: a struct of constants and static functions, one header each, that kernels and the rest of
// the core are compiled with. To add one, write its header and name it in registry.hpp. A policy has
//
//     static constexpr const char* name             as Python calls it
//     static constexpr bool on_sphere               rows, memories and free states have length 1
//     static constexpr bool distance_by_difference  the distance reported is |x - rho|^2; otherwise distance(x.rho)
//     float distance(x.rho)                         only where it is not
//     float logit_factor(beta)                      d(logit) / d(product of state and memory)
//     float bias(log_weight, beta, |rho|^2)         the part of the logit that no state changes
//     float bias_slope(beta)                        d(bias) / d(rho) = -bias_slope rho; not asked for on the sphere,
//                                                   where the gradient loses all that points along rho
//     float energy(log_total, beta, |x|^2)          from the log-sum-exp of the logits
//     float attraction(x_j, rho_j)                  what one coordinate adds to logit / beta, own(x) included
//     Value closeness(x.rho, |rho|^2)               largest for the memory nearest to x; Value is a float or a vector
//
// Kernel files are compiled once per instruction set, and policies are part of them. So policies, and the templates
// that choose among them, have internal linkage: no function of a wide build may stand in for one of a narrow build.
#pragma once

#include <cstdint>

namespace amclust {

// An energy's place in the list of registry.hpp; the first is the default.
enum class EnergyKind : std::int32_t {};

}  // namespace amclust
