#include "stager/files/archive/byte_stream.h"

#include <lzma.h>

namespace stage {
namespace {

constexpr std::uint64_t kMebibyte = 1U << 20U;

/// A file of xz is a row of streams, with or without padding; liblzma decodes them all.
class XzStream final : public ByteStream {
  public:
    XzStream(ByteStream& from, ReadTrouble& trouble)
        : input_{from},
          trouble_{trouble},
          last_{::lzma_stream_decoder(
              &state_, kDecoderBytesMax, LZMA_CONCATENATED | LZMA_TELL_UNSUPPORTED_CHECK)} {}
    XzStream(const XzStream&) = delete;
    XzStream& operator=(const XzStream&) = delete;
    ~XzStream() override { ::lzma_end(&state_); }

    std::int64_t read(MutableBytes room) override {
        state_.next_out = reinterpret_cast<std::uint8_t*>(room.data());
        state_.avail_out = room.size();
        while (last_ == LZMA_OK && state_.avail_out == room.size()) {
            if (!input_.fill(1)) {
                return -1;
            }
            const Bytes bytes = input_.bytes();
            state_.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
            state_.avail_in = bytes.size();
            last_ = ::lzma_code(&state_, bytes.empty() ? LZMA_FINISH : LZMA_RUN);
            input_.use(bytes.size() - state_.avail_in);
        }
        const std::size_t made = room.size() - state_.avail_out;
        if (made == 0 && last_ != LZMA_STREAM_END) {
            return fail();
        }
        return static_cast<std::int64_t>(made);
    }

  private:
    [[nodiscard]] std::int64_t fail() {
        using Kind = ReadTrouble::Kind;
        switch (last_) {
            case LZMA_BUF_ERROR:
                return fail(Kind::damaged, "unexpected end of file");
            case LZMA_FORMAT_ERROR:
            case LZMA_DATA_ERROR:
                return fail(Kind::damaged, "a checksum differs, or other bytes follow it");
            case LZMA_MEMLIMIT_ERROR:
                return fail(Kind::unsupported, memory_wanted());
            case LZMA_MEM_ERROR:
                return fail(Kind::unsupported, "out of memory");
            default:
                return fail(Kind::unsupported, "a check or a filter that is not known here");
        }
    }
    [[nodiscard]] std::int64_t fail(ReadTrouble::Kind kind, const std::string& why) {
        trouble_.set({.kind = kind, .why = "xz: " + why});
        return -1;
    }
    [[nodiscard]] std::string memory_wanted() const {
        return "takes " + std::to_string(::lzma_memusage(&state_) / kMebibyte) +
               " MiB of memory, more than " + std::to_string(kDecoderBytesMax / kMebibyte);
    }

    StreamInput input_;
    ReadTrouble& trouble_;
    lzma_stream state_ = LZMA_STREAM_INIT;
    lzma_ret last_;
};

}  // namespace

std::unique_ptr<ByteStream> xz_stream(ByteStream& from, ReadTrouble& trouble) {
    return std::make_unique<XzStream>(from, trouble);
}

}  // namespace stage
