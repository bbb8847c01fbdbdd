// The algorithms that are compared with stagecast's.
//
// One maker for each paper; each returns a member's core for a plan. All run at the link's
// configured rate.
#pragma once

#include "tests/sim/plan/plan.h"
#include "transport/core/base/core.h"

#include <memory>

namespace stage::sim {

using MakeBaseline = std::unique_ptr<core::Core> (*)(const Plan& plan, std::uint16_t rank);

/// Brim and Sommers: broadcast, go-back-N, an acker's window.
std::unique_ptr<core::Core> make_go_back(const Plan& plan, std::uint16_t rank);
/// Hoefler, Siebert and Rehm: multicast once, then a reliable chain through all.
std::unique_ptr<core::Core> make_ring(const Plan& plan, std::uint16_t rank);
/// WAMP: the whole buffer at once, bitmaps come back, the holes are sent again.
std::unique_ptr<core::Core> make_bitmap(const Plan& plan, std::uint16_t rank);
/// Selective repeat by the source alone.
std::unique_ptr<core::Core> make_repeat(const Plan& plan, std::uint16_t rank);
/// Blocks of a Reed-Solomon code of 255; the source sends as many parities as the worst lost.
std::unique_ptr<core::Core> make_block_fec(const Plan& plan, std::uint16_t rank);
/// Unicast along the edges of a hypercube (Traff and Ripke, RDMC). Members: a power of two.
std::unique_ptr<core::Core> make_pipeline(const Plan& plan, std::uint16_t rank);

/// Data chunks in a block of the FEC, and so in its plan.
inline constexpr std::uint32_t kFecSymbols = 200;
/// In a block of the pipeline.
inline constexpr std::uint32_t kPipelineChunks = 64;

}  // namespace stage::sim
