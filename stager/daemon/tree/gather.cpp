#include "stager/daemon/tree/gather.h"

#include "transport/base/invariant.h"

#include <algorithm>
#include <iterator>

namespace stage {

Gather::Gather(Rank self, const std::vector<Rank>& children) : awaited_{children} {
    awaited_.push_back(self);
}

bool Gather::add(Rank from, std::vector<Contribution> contributions) {
    const auto awaited = std::find(awaited_.begin(), awaited_.end(), from);
    if (awaited == awaited_.end()) {
        return false;
    }
    awaited_.erase(awaited);
    std::move(contributions.begin(), contributions.end(), std::back_inserter(gathered_));
    return true;
}

void Gather::replace(Rank child, const std::vector<Rank>& below) {
    if (std::erase(awaited_, child) > 0) {
        awaited_.insert(awaited_.end(), below.begin(), below.end());
    }
}

std::vector<Contribution> Gather::take() {
    invariant(complete(), "a gather is taken when all have contributed");
    std::sort(gathered_.begin(), gathered_.end(), [](const auto& one, const auto& other) {
        return one.rank < other.rank;
    });
    return std::move(gathered_);
}

std::size_t length_of(const std::vector<Contribution>& contributions) {
    std::size_t length = 4;
    for (const Contribution& one : contributions) {
        length += kContributionHead + one.bytes.size();
    }
    return length;
}

void put_contributions(ByteWriter& writer, const std::vector<Contribution>& contributions) {
    writer.u32(static_cast<std::uint32_t>(contributions.size()));
    for (const Contribution& one : contributions) {
        writer.u16(one.rank.value()).blob(one.bytes);
    }
}

std::vector<Contribution> take_contributions(ByteReader& reader, std::size_t count_max) {
    std::vector<Contribution> contributions;
    const std::size_t count = reader.u32();
    if (count > count_max) {
        reader.fail();
    }
    for (std::size_t i = 0; i < count && reader.ok(); ++i) {
        const Rank rank{reader.u16()};
        const Bytes bytes = reader.blob(kMaxContributionBytes);
        contributions.push_back({rank, {bytes.begin(), bytes.end()}});
    }
    return contributions;
}

}  // namespace stage
