#include "stager/files/archive/byte_stream.h"

#include <zlib.h>

namespace stage {
namespace {

/// The largest window, with gzip's header and trailer rather than zlib's own.
constexpr int kGzipWindow = 15 + 16;

class GzipStream final : public MemberStream {
  public:
    GzipStream(ByteStream& from, ReadTrouble& trouble)
        : MemberStream{from, trouble, "gzip", 2},
          is_ready_{::inflateInit2(&state_, kGzipWindow) == Z_OK} {}
    ~GzipStream() override { static_cast<void>(::inflateEnd(&state_)); }

  private:
    [[nodiscard]] bool is_member(Bytes bytes) const override {
        return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
    }

    std::int64_t decode(MutableBytes room) override {
        if (!is_ready_) {
            return failed(Z_MEM_ERROR);
        }
        const Bytes bytes = input().bytes();
        // zlib's type is not const, but zlib does not write there.
        state_.next_in = const_cast<Bytef*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast)
            reinterpret_cast<const Bytef*>(bytes.data()));
        state_.avail_in = static_cast<uInt>(bytes.size());
        state_.next_out = reinterpret_cast<Bytef*>(room.data());
        state_.avail_out = static_cast<uInt>(room.size());
        const int got = ::inflate(&state_, Z_NO_FLUSH);
        input().use(bytes.size() - state_.avail_in);
        if (got == Z_STREAM_END) {
            end_member();
            static_cast<void>(::inflateReset(&state_));
        } else if (got != Z_OK && got != Z_BUF_ERROR) {
            return failed(got);
        }
        return static_cast<std::int64_t>(room.size() - state_.avail_out);
    }

    std::int64_t failed(int cause) {
        return fail(cause == Z_MEM_ERROR, state_.msg != nullptr ? state_.msg : ::zError(cause));
    }

    z_stream state_{};
    bool is_ready_;
};

}  // namespace

std::unique_ptr<ByteStream> gzip_stream(ByteStream& from, ReadTrouble& trouble) {
    return std::make_unique<GzipStream>(from, trouble);
}

}  // namespace stage
