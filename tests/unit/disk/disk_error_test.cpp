// Tests that an error message has file, cause and remedy.
#include "stager/disk/disk_error.h"

#include <catch2/catch.hpp>

namespace stage {

TEST_CASE("each usual errno has its remedy and its blame") {
    CHECK(target_error("/tmp/x", ENOSPC).sentence() ==
          "/tmp/x: No space left on device; free some space there, or choose another "
          "destination");
    CHECK(target_error("/tmp/x", EDQUOT).blame() == Blame::user);
    CHECK(target_error("/tmp/x", EIO).blame() == Blame::node);
    CHECK(source_error("/tmp/x", EACCES).blame() == Blame::user);
    CHECK(source_error("/tmp/x", EIO).blame() == Blame::node);
    CHECK(source_error("/tmp/x", ENOENT).cause() == ENOENT);
    CHECK(source_error("/tmp/x", ENOTCONN).blame() == Blame::user);
    CHECK(source_error("/tmp/x", EAGAIN).blame() == Blame::node);
    CHECK(target_error("/tmp/x", ENOTTY).sentence().starts_with("/tmp/x: "));
    for (const int cause : {ESHUTDOWN, ETIMEDOUT, EREMOTEIO, EBADMSG, ENXIO}) {
        CHECK(source_error("/x", cause).blame() == Blame::node);
        CHECK(source_error("/x", cause).sentence().ends_with("tell the administrator"));
    }
    CHECK(source_error("/x", EKEYEXPIRED).blame() == Blame::user);
    CHECK(target_error("/x", ENOKEY).blame() == Blame::user);
    CHECK(target_error("/x", EEXIST).blame() == Blame::user);
    CHECK(link_error("/x", EMLINK).sentence() == target_error("/x", EMLINK).sentence());
}

}  // namespace stage
