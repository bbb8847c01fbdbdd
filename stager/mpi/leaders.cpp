#include "stager/mpi/leaders.h"

#include "transport/base/codec.h"

#include <algorithm>
#include <array>

namespace stage {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);

std::vector<std::byte> length_of(Bytes bytes) {
    ByteWriter out;
    out.u64(bytes.size());
    return out.take();
}

}  // namespace

Error Leaders::failed(int error) const {
    std::array<char, 512> text{};
    table_.describe(error, text.data(), text.size());
    return {Blame::node, std::string{"MPI: "} + text.data()};
}

Status Leaders::carry(Carry how, std::vector<std::byte>& bytes) {
    std::vector<std::byte> length = length_of(bytes);
    if (const int error = how(table_.context, length.data(), length.size()); error != 0) {
        return failed(error);
    }
    bytes.resize(ByteReader{length}.u64());
    const int error = bytes.empty() ? 0 : how(table_.context, bytes.data(), bytes.size());
    return error == 0 ? Status{} : Status{failed(error)};
}

Status Leaders::broadcast(std::vector<std::byte>& bytes) {
    return carry(table_.broadcast, bytes);
}

Status Leaders::share(std::vector<std::byte>& bytes) {
    return carry(table_.share, bytes);
}

/// Each sends as many bytes as the longest has.
Result<std::vector<std::vector<std::byte>>> Leaders::gather(Bytes own) {
    std::vector<std::byte> lengths(count() * kLengthBytes);
    const std::vector<std::byte> length = length_of(own);
    int error = table_.gather(table_.context, length.data(), lengths.data(), kLengthBytes);
    if (error != 0) {
        return failed(error);
    }
    std::vector<std::vector<std::byte>> all(count());
    std::size_t longest = 0;
    ByteReader reader{lengths};
    for (std::vector<std::byte>& one : all) {
        one.resize(reader.u64());
        longest = std::max(longest, one.size());
    }
    if (longest == 0) {
        return all;
    }
    std::vector<std::byte> padded(own.begin(), own.end());
    padded.resize(longest);
    std::vector<std::byte> room(longest * count());
    error = table_.gather(table_.context, padded.data(), room.data(), longest);
    if (error != 0) {
        return failed(error);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Bytes part = Bytes{room}.subspan(i * longest, all[i].size());
        std::ranges::copy(part, all[i].begin());
    }
    return all;
}

Result<std::vector<int>> Leaders::gather_number(int own) {
    std::vector<int> all(static_cast<std::size_t>(table_.size));
    const int error = table_.gather_numbers(table_.context, &own, all.data());
    return error == 0 ? Result<std::vector<int>>{std::move(all)} : failed(error);
}

}  // namespace stage
