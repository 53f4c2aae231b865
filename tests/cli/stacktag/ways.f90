! SPDX-License-Identifier: MIT
! The runtime in a program that is not C: recursion and calls between Fortran subroutines.
module names
  use iso_c_binding
  implicit none
  interface
    subroutine expect(path) bind(c)
      import c_char
      character(kind=c_char), intent(in) :: path(*)
    end subroutine
    subroutine finish() bind(c)
    end subroutine
  end interface
end module

recursive subroutine deeper(depth)
  use names
  implicit none
  integer, intent(in) :: depth
  if (depth > 0) then
    call deeper(depth - 1)
  else
    call expect("main;MAIN__;outer_;deeper_;deeper_;deeper_"//c_null_char)
  end if
end subroutine

subroutine outer()
  use names
  implicit none
  call expect("main;MAIN__;outer_"//c_null_char)
  call deeper(2)
  call expect("main;MAIN__;outer_"//c_null_char)
end subroutine

program ways
  use names
  implicit none
  call outer()
  call expect("main;MAIN__"//c_null_char)
  call finish()
end program
