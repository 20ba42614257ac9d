#include "base/json_depth.h"

namespace waste {

bool isNestedDeeperThan(std::string_view json, std::size_t levelsMax)
{
    std::size_t levels = 0;
    bool inString = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const char c = json[i];
        if (inString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                inString = false;
        } else if (c == '"') {
            inString = true;
        } else if (c == '{' || c == '[') {
            if (++levels > levelsMax)
                return true;
        } else if ((c == '}' || c == ']') && levels > 0) {
            --levels;
        }
    }
    return false;
}

} // namespace waste
