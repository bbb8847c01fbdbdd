#include "stager/files/archive/byte_stream.h"

#include <lz4frame.h>

namespace stage {
namespace {

struct FreeContext {
    void operator()(LZ4F_dctx* one) const {
        static_cast<void>(LZ4F_freeDecompressionContext(one));
    }
};

class Lz4Stream final : public ByteStream {
  public:
    Lz4Stream(ByteStream& from, ReadTrouble& trouble) : input_{from}, trouble_{trouble} {
        LZ4F_dctx* made = nullptr;
        if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) == 0U) {
            context_.reset(made);
        }
    }

    std::int64_t read(MutableBytes room) override {
        if (!context_) {
            trouble_.set({.kind = ReadTrouble::Kind::unsupported, .why = "lz4: out of memory"});
            return -1;
        }
        while (true) {
            if (is_between_ && !input_.fill(4)) {
                return -1;
            }
            if (is_between_ && !is_frame(input_.bytes())) {
                return 0;  // As with lz4(1), bytes after the last frame are ignored.
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
                trouble_.set(
                    {.kind = ReadTrouble::Kind::damaged, .why = "lz4: unexpected end of file"});
                return -1;
            }
        }
    }

  private:
    static bool is_frame(Bytes bytes) {
        if (bytes.size() < 4) {
            return false;
        }
        const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
        const bool is_data = at(0) == 0x04 && at(1) == 0x22 && at(2) == 0x4d && at(3) == 0x18;
        const bool is_skippable =
            (at(0) & 0xf0U) == 0x50 && at(1) == 0x2a && at(2) == 0x4d && at(3) == 0x18;
        return is_data || is_skippable;
    }

    std::int64_t decode(MutableBytes room) {
        const Bytes bytes = input_.bytes();
        std::size_t used = bytes.size();
        std::size_t made = room.size();
        const std::size_t got =
            LZ4F_decompress(context_.get(), room.data(), &made, bytes.data(), &used, nullptr);
        if (LZ4F_isError(got) != 0U) {
            const std::string why = LZ4F_getErrorName(got);
            const bool is_memory = why.find("allocation") != std::string::npos;
            trouble_.set({.kind = is_memory ? ReadTrouble::Kind::unsupported
                                            : ReadTrouble::Kind::damaged,
                          .why = "lz4: " + why});
            return -1;
        }
        input_.use(used);
        is_between_ = got == 0;
        return static_cast<std::int64_t>(made);
    }

    StreamInput input_;
    ReadTrouble& trouble_;
    std::unique_ptr<LZ4F_dctx, FreeContext> context_;
    bool is_between_ = true;  ///< Between two frames.
};

}  // namespace

std::unique_ptr<ByteStream> lz4_stream(ByteStream& from, ReadTrouble& trouble) {
    return std::make_unique<Lz4Stream>(from, trouble);
}

}  // namespace stage
