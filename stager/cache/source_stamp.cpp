#include "stager/cache/source_stamp.h"

#include "transport/base/codec.h"

#include <openssl/sha.h>

#include <algorithm>
#include <span>
#include <string_view>

namespace stage {
namespace {

constexpr std::string_view kLabel = "stagecast 1 stamp";

std::chrono::nanoseconds time_of(const timespec& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

}  // namespace

std::optional<SourceStamp> stamp_of(const std::string& path,
                                    const struct stat& status,
                                    std::chrono::nanoseconds now) {
    const auto changed = std::max(time_of(status.st_mtim), time_of(status.st_ctim));
    if (now - changed < kStampAgeMin) {
        return std::nullopt;
    }
    ByteWriter writer;
    writer.raw(std::as_bytes(std::span{kLabel})).text(path);
    writer.u64(status.st_ino).u64(static_cast<std::uint64_t>(status.st_size));
    for (const timespec& time : {status.st_mtim, status.st_ctim}) {
        writer.u64(static_cast<std::uint64_t>(time.tv_sec));
        writer.u64(static_cast<std::uint64_t>(time.tv_nsec));
    }
    const Bytes bytes = writer.view();
    SourceStamp stamp{};
    ::SHA256(reinterpret_cast<const unsigned char*>(bytes.data()),
             bytes.size(),
             reinterpret_cast<unsigned char*>(stamp.data()));
    return stamp;
}

}  // namespace stage
