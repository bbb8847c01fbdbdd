// The buffers that a simulated member's disk has room for.
#pragma once

#include "transport/base/units.h"
#include "transport/run/object/spare_buffers.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace stage::sim {

class SimSpare final : public SpareBuffers {
  public:
    explicit SimSpare(std::uint32_t blocks) : left_{blocks} {}

    [[nodiscard]] std::byte* take() override {
        if (left_ == 0) {
            return nullptr;
        }
        --left_;
        taken_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBlockBytes));
        return taken_.back().get();
    }

  private:
    std::uint32_t left_;
    std::vector<std::unique_ptr<std::byte[]>> taken_;
};

}  // namespace stage::sim
