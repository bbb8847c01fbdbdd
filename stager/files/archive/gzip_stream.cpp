#include "stager/files/archive/byte_stream.h"

#include <zlib.h>

namespace stage {
namespace {

/// The largest window, with gzip's header and trailer rather than zlib's own.
constexpr int kGzipWindow = 15 + 16;

class GzipStream final : public ByteStream {
  public:
    GzipStream(ByteStream& from, ReadTrouble& trouble)
        : input_{from},
          trouble_{trouble},
          is_ready_{::inflateInit2(&state_, kGzipWindow) == Z_OK} {}
    ~GzipStream() override { static_cast<void>(::inflateEnd(&state_)); }

    std::int64_t read(MutableBytes room) override {
        if (!is_ready_) {
            return failed(Z_MEM_ERROR);
        }
        while (true) {
            if (is_between_ && !input_.fill(2)) {
                return -1;
            }
            if (is_between_ && !is_member(input_.bytes())) {
                return 0;  // As with gzip(1), bytes after the last member are ignored.
            }
            is_between_ = false;
            if (!input_.fill(1)) {
                return -1;
            }
            const std::int64_t count = decode(room);
            if (count != 0) {
                return count;
            }
            if (!is_between_ && input_.is_at_end() && input_.bytes().empty()) {
                trouble_.set({.kind = ReadTrouble::Kind::damaged,
                              .why = "gzip: unexpected end of file"});
                return -1;
            }
        }
    }

  private:
    static bool is_member(Bytes bytes) {
        return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
    }

    std::int64_t decode(MutableBytes room) {
        const Bytes bytes = input_.bytes();
        // zlib's type is not const, but zlib does not write there.
        state_.next_in = const_cast<Bytef*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast)
            reinterpret_cast<const Bytef*>(bytes.data()));
        state_.avail_in = static_cast<uInt>(bytes.size());
        state_.next_out = reinterpret_cast<Bytef*>(room.data());
        state_.avail_out = static_cast<uInt>(room.size());
        const int got = ::inflate(&state_, Z_NO_FLUSH);
        input_.use(bytes.size() - state_.avail_in);
        if (got == Z_STREAM_END) {
            is_between_ = true;
            static_cast<void>(::inflateReset(&state_));
        } else if (got != Z_OK && got != Z_BUF_ERROR) {
            return failed(got);
        }
        return static_cast<std::int64_t>(room.size() - state_.avail_out);
    }

    std::int64_t failed(int cause) {
        const bool is_memory = cause == Z_MEM_ERROR;
        const char* why = state_.msg != nullptr ? state_.msg : ::zError(cause);
        trouble_.set(
            {.kind = is_memory ? ReadTrouble::Kind::unsupported : ReadTrouble::Kind::damaged,
             .why = std::string{"gzip: "} + why});
        return -1;
    }

    StreamInput input_;
    ReadTrouble& trouble_;
    z_stream state_{};
    bool is_ready_;
    bool is_between_ = true;  ///< Between two members.
};

}  // namespace

std::unique_ptr<ByteStream> gzip_stream(ByteStream& from, ReadTrouble& trouble) {
    return std::make_unique<GzipStream>(from, trouble);
}

}  // namespace stage
