// SPDX-License-Identifier: Apache-2.0

#ifndef ZKRECIPES_TOOLS_ZKR_DOCTOR_PARAGRAPH_H_
#define ZKRECIPES_TOOLS_ZKR_DOCTOR_PARAGRAPH_H_

#include <string>

namespace zkrecipes::zkr::doctor {

// `label`, then `text` in lines of at most 100 columns that begin below its own beginning.
std::string Paragraph(const std::string& label, const std::string& text);

}  // namespace zkrecipes::zkr::doctor

#endif  // ZKRECIPES_TOOLS_ZKR_DOCTOR_PARAGRAPH_H_
