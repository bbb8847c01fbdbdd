#include "transport/core/repair/repair_requests.h"

#include "transport/core/base/repeater.h"

#include <algorithm>

namespace stage::core {

void RepairRequest::gather(const OpenBlock& open,
                           std::uint32_t from,
                           std::uint32_t below,
                           std::uint32_t most) {
    for (std::uint32_t chunk = open.have.next_absent(from); chunk < below && left < most;
         chunk = open.have.next_absent(chunk + 1)) {
        if (!open.asked.has(chunk)) {
            add(chunk);
        }
    }
}

bool RepairRequest::remove(std::uint32_t chunk) {
    const auto end = chunks.begin() + left;
    const auto found = std::find(chunks.begin(), end, chunk);
    if (found == end) {
        return false;
    }
    std::copy(found + 1, end, found);
    --left;
    return true;
}

wire::Request RepairRequest::body() const {
    wire::Request body{.id = id, .runs = {}};
    for (const std::uint16_t chunk : expected()) {
        if (!body.runs.empty() &&
            unsigned{body.runs.back().first} + body.runs.back().count == chunk) {
            ++body.runs.back().count;
        } else {
            body.runs.push_back({.block = block, .first = chunk, .count = 1});
        }
    }
    return body;
}

void RepairRequests::add(const RepairRequest& request) {
    requests_.push_back(request);
    in_flight_ += request.left;
}

std::size_t RepairRequests::count_at(Rank peer) const {
    return static_cast<std::size_t>(std::ranges::count(requests_, peer, &RepairRequest::peer));
}

std::optional<Instant> RepairRequests::deadline() const {
    std::optional<Instant> first;
    for (const RepairRequest& request : requests_) {
        first = earlier(first, request.expires_at);
    }
    return first;
}

std::optional<std::size_t> RepairRequests::find(std::uint32_t id, Rank peer) const {
    const auto found = std::ranges::find_if(requests_, [&](const RepairRequest& request) {
        return request.id == id && request.peer == peer;
    });
    return found != requests_.end()
               ? std::optional{static_cast<std::size_t>(found - requests_.begin())}
               : std::nullopt;
}

bool RepairRequests::on_arrival(std::size_t index, BlockIndex block, std::uint32_t chunk) {
    RepairRequest& request = requests_[index];
    if (request.block != block || !request.remove(chunk)) {
        return false;
    }
    ++request.given;
    --in_flight_;
    return true;
}

RepairRequest RepairRequests::refuse(std::size_t index, std::span<const wire::ChunkRun> runs) {
    RepairRequest& request = requests_[index];
    RepairRequest refused = request;
    refused.left = 0;
    for (const wire::ChunkRun& run : runs) {
        if (run.block != request.block) {
            continue;
        }
        const std::uint32_t below = std::uint32_t{run.first} + run.count;
        for (std::uint8_t i = 0; i < request.left;) {
            const std::uint16_t chunk = request.chunks[i];
            if (chunk >= run.first && chunk < below && request.remove(chunk)) {
                refused.add(chunk);
                --in_flight_;
            } else {
                ++i;
            }
        }
    }
    return refused;
}

void RepairRequests::end(std::size_t index) {
    in_flight_ -= requests_[index].left;
    requests_[index] = requests_.back();
    requests_.pop_back();
}

void RepairRequests::forget(BlockIndex block) {
    for (std::size_t i = requests_.size(); i-- > 0;) {
        if (requests_[i].block == block) {
            end(i);
        }
    }
}

std::optional<RepairRequest> RepairRequests::take_expired(Instant now) {
    for (std::size_t i = requests_.size(); i-- > 0;) {
        if (now >= requests_[i].expires_at) {
            const RepairRequest expired = requests_[i];
            end(i);
            return expired;
        }
    }
    return std::nullopt;
}

void RepairRequests::replace_all(Instant at) {
    for (RepairRequest& request : requests_) {
        request.expires_at = std::min(request.expires_at, at);
        request.is_replaced = true;
    }
}

void RepairRequests::give_back(const RepairRequest& ended, OpenBlock& open) const {
    for (const std::uint16_t chunk : ended.expected()) {
        const bool is_covered = std::ranges::any_of(requests_, [&](const RepairRequest& other) {
            return !other.is_replaced && other.id != ended.id && other.block == ended.block &&
                   std::ranges::find(other.expected(), chunk) != other.expected().end();
        });
        if (!is_covered) {
            open.asked.remove(chunk);
        }
    }
}

}  // namespace stage::core
