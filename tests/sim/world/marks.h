// Which rare ways members of simulated broadcasts took.
//
// What leaves a core shows them: its packets, operations and outcome. So a rare
// branch that no seed reaches any more is noticed, and the core knows of no
// test.
#pragma once

#include "tests/sim/world/world.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stage::sim {

struct Mark {
    const char* way;
    std::uint64_t members = 0;  ///< That took it.
};

class Marks {
  public:
    Marks();

    /// Counts the members of a scenario that has run.
    void add(const World& world);
    [[nodiscard]] const std::vector<Mark>& all() const { return marks_; }
    /// One on each line.
    [[nodiscard]] std::string table() const;

  private:
    std::vector<Mark> marks_;
};

}  // namespace stage::sim
