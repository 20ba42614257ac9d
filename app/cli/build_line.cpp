#include "cli/build_line.h"

#include "waste/build_info.h"

namespace waste::cli {

std::string_view programVersion()
{
    return WASTE_VERSION;
}

std::string_view programCommit()
{
    return WASTE_COMMIT;
}

std::string_view programCompiler()
{
    return WASTE_COMPILER;
}

Result<std::string> buildLine()
{
    WASTE_TRY(const BuildInfo info, describeBuild());
    return "WASTE " + std::string(programVersion()) + " (container v" + std::to_string(kContainerFormat) + ", backend "
        + info.backend + ", crc32 " + info.checksum + ", " WASTE_ARCHITECTURE ")";
}

} // namespace waste::cli
