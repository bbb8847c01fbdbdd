#include "stager/files/archive/byte_stream.h"

#include <lz4frame.h>

namespace stage {
namespace {

struct FreeContext {
    void operator()(LZ4F_dctx* one) const {
        static_cast<void>(LZ4F_freeDecompressionContext(one));
    }
};

class Lz4Stream final : public MemberStream {
  public:
    Lz4Stream(ByteStream& from, ReadTrouble& trouble) : MemberStream{from, trouble, "lz4", 4} {
        LZ4F_dctx* made = nullptr;
        if (LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) == 0U) {
            context_.reset(made);
        }
    }

  private:
    [[nodiscard]] bool is_member(Bytes bytes) const override {
        if (bytes.size() < 4) {
            return false;
        }
        const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
        const bool is_data = at(0) == 0x04 && at(1) == 0x22 && at(2) == 0x4d && at(3) == 0x18;
        const bool is_skippable =
            (at(0) & 0xf0U) == 0x50 && at(1) == 0x2a && at(2) == 0x4d && at(3) == 0x18;
        return is_data || is_skippable;
    }

    std::int64_t decode(MutableBytes room) override {
        if (!context_) {
            return fail(true, "out of memory");
        }
        const Bytes bytes = input().bytes();
        std::size_t used = bytes.size();
        std::size_t made = room.size();
        const std::size_t got =
            LZ4F_decompress(context_.get(), room.data(), &made, bytes.data(), &used, nullptr);
        if (LZ4F_isError(got) != 0U) {
            const std::string why = LZ4F_getErrorName(got);
            return fail(why.find("allocation") != std::string::npos, why);
        }
        input().use(used);
        if (got == 0) {
            end_member();
        }
        return static_cast<std::int64_t>(made);
    }

    std::unique_ptr<LZ4F_dctx, FreeContext> context_;
};

}  // namespace

std::unique_ptr<ByteStream> lz4_stream(ByteStream& from, ReadTrouble& trouble) {
    return std::make_unique<Lz4Stream>(from, trouble);
}

}  // namespace stage
