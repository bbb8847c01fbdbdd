#include "stager/files/archive/archive_handle.h"
#include "stager/files/archive/byte_stream.h"

namespace stage {
namespace {

class FilteredStream final : public ByteStream {
  public:
    FilteredStream(Filter filter, ByteStream& from, ReadTrouble& trouble)
        : filter_{filter}, input_{from}, trouble_{trouble} {}

    std::int64_t read(MutableBytes room) override {
        if (!archive_ && !open()) {
            trouble_.set(trouble_of(archive_.get()));
            return -1;
        }
        if (is_empty_) {
            return 0;
        }
        const la_ssize_t count = archive_read_data(archive_.get(), room.data(), room.size());
        if (count < 0) {
            trouble_.set(trouble_of(archive_.get()));
            return -1;
        }
        return count;
    }

  private:
    /// Allows this compression and no other.
    [[nodiscard]] int allow() const {
        switch (filter_) {
            case Filter::zstd:
                return archive_read_support_filter_zstd(archive_.get());
            case Filter::bzip2:
                return archive_read_support_filter_bzip2(archive_.get());
            case Filter::old_lz4:
                break;
        }
        return archive_read_support_filter_lz4(archive_.get());
    }

    bool open() {
        const auto read = [](archive* /*one*/, void* data, const void** out) {
            return static_cast<FilteredStream*>(data)->give(out);
        };
        archive_.reset(archive_read_new());
        archive* one = archive_.get();
        if (one == nullptr || allow() != ARCHIVE_OK ||
            archive_read_support_format_raw(one) != ARCHIVE_OK ||
            archive_read_support_format_empty(one) != ARCHIVE_OK ||
            archive_read_open(one, this, nullptr, read, nullptr) != ARCHIVE_OK) {
            return false;
        }
        archive_entry* entry = nullptr;
        const int got = archive_read_next_header(one, &entry);
        is_empty_ = got == ARCHIVE_EOF;
        return is_empty_ || got == ARCHIVE_OK;
    }

    /// Requires that the previous bytes have been used.
    la_ssize_t give(const void** out) {
        input_.use(input_.bytes().size());
        if (!input_.fill(1)) {
            return -1;
        }
        *out = input_.bytes().data();
        return static_cast<la_ssize_t>(input_.bytes().size());
    }

    Filter filter_;
    StreamInput input_;
    ReadTrouble& trouble_;
    ArchiveHandle archive_;
    bool is_empty_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> filtered_stream(Filter filter,
                                            ByteStream& from,
                                            ReadTrouble& trouble) {
    return std::make_unique<FilteredStream>(filter, from, trouble);
}

}  // namespace stage
