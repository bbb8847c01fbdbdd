// The buffers that a simulated member's disk has room for.
#pragma once

#include "transport/run/object/spare_buffers.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace stage::sim {

class SimSpare final : public SpareBuffers {
  public:
    SimSpare(std::uint32_t blocks, std::size_t block_bytes)
        : left_{blocks}, block_bytes_{block_bytes} {}

    [[nodiscard]] std::byte* take() override {
        if (left_ == 0) {
            return nullptr;
        }
        --left_;
        taken_.push_back(std::make_unique_for_overwrite<std::byte[]>(block_bytes_));
        return taken_.back().get();
    }

  private:
    std::uint32_t left_;
    std::size_t block_bytes_;
    std::vector<std::unique_ptr<std::byte[]>> taken_;
};

}  // namespace stage::sim
