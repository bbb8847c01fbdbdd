#include "stager/content/content.h"

#include "stager/content/sha256.h"
#include "transport/base/codec.h"

#include <algorithm>
#include <span>

namespace stage {
namespace {

constexpr std::string_view kLabel = "stagecast 1 content";

}  // namespace

void ContentHasher::add(Bytes block) {
    const ContentKey leaf = sha256(block);
    leaves_.insert(leaves_.end(), leaf.begin(), leaf.end());
    sums_.push_back(xxh3_128(block));
    size_ += block.size();
}

Content ContentHasher::content() const {
    ByteWriter writer;
    writer.raw(std::as_bytes(std::span{kLabel})).u64(size_).raw(leaves_);
    return {.key = sha256(writer.view()), .sum = sum_of(sums_)};
}

Digest128 sum_of(const std::vector<Digest128>& leaves) {
    return xxh3_128(std::as_bytes(std::span{leaves}));
}

std::vector<std::byte> bytes_of(const Content& content) {
    ByteWriter writer;
    writer.raw(content.key).raw(content.sum);
    return writer.take();
}

std::optional<Content> content_of_bytes(Bytes bytes) {
    if (bytes.size() != kContentBytes) {
        return std::nullopt;
    }
    Content content;
    std::ranges::copy(bytes.first(content.key.size()), content.key.begin());
    std::ranges::copy(bytes.subspan(content.key.size()), content.sum.begin());
    return content;
}

}  // namespace stage
